"""Hypothesis strategies for two-channel timelines that crowd around the protocol's limits.

Uniform times would almost never land on a limit. Here pauses lie near 100, 500 and 1000 ms,
agent edges near the caller's edges, waits near 3000 ms, and the window's edges near the edges
of what was said. Numbers are drawn flat and laid out in plain Python, so that a draw is cheap.
"""

from __future__ import annotations

from hypothesis import strategies as st

Interval = tuple[int, int]
TimelineInput = tuple[list[Interval], list[Interval], Interval, list[int]]

#: No caller sound begins before this, so that the agent may begin well before the caller.
_FIRST_SOUND_MS = 6000

#: On a limit, 1 ms beside it, at the timing uncertainty, and a little off.
_BESIDE_MS = (0, 0, -1, 1, -50, 50, 23)


def near(*limits: int) -> st.SearchStrategy[int]:
    """Return whole milliseconds on or closely beside one of the limits."""
    return st.sampled_from(tuple(limit + by for limit in limits for by in _BESIDE_MS))


#: Sound: near a limit, or anything; 0 is an empty segment.
_LENGTHS = st.one_of(near(100, 200, 1000, 2000), st.integers(0, 4000))

#: Silence of one side between its own stretches; 0 and less make them touch.
_PAUSES = st.one_of(near(0, 100, 500, 1000), near(1000, 2000, 3000, 4500), st.integers(0, 7000))

#: From an edge of the caller's to an agent onset: before it, at it, as a reply, as a late reply.
_LEADS = near(-1500, -500, -200, 0, 200, 500, 1500, 3000)

#: From an edge of the caller's to the end of the agent's stretch.
_OVERRUNS = near(-500, 0, 1000)

_OWN = st.lists(st.tuples(_LENGTHS, _PAUSES), max_size=6)

_HANGING = st.lists(
    st.tuples(st.integers(0, 11), _LEADS, st.booleans(), st.integers(0, 4), _LENGTHS, _OVERRUNS),
    max_size=7,
)


def lay_out(own: list[tuple[int, int]], first: int) -> list[Interval]:
    """Return stretches one after the other from (length, pause) pairs."""
    segments: list[Interval] = []
    at = first
    for length, pause in own:
        segments.append((at, at + length))
        at += length + max(0, pause)
    return segments


def edges_of(segments: list[Interval]) -> list[int]:
    """Return all starts and ends in order, or a place to begin where there are none."""
    return sorted({edge for segment in segments for edge in segment}) or [_FIRST_SOUND_MS]


def hang_on(
    caller: list[Interval], hanging: list[tuple[int, int, bool, int, int, int]]
) -> list[Interval]:
    """Return agent stretches that begin, and often end, near edges of the caller's."""
    edges = edges_of(caller)
    segments: list[Interval] = []
    for at, lead, ends_at_an_edge, later, length, overrun in hanging:
        first = at % len(edges)
        start = edges[first] + lead
        end = start + length
        if ends_at_an_edge:
            end = edges[min(first + later, len(edges) - 1)] + overrun
        segments.append((start, max(start, end)))
    return sorted(segments)


@st.composite
def windows(draw: st.DrawFn, segments: list[Interval]) -> Interval:
    """Draw a scored window: mostly all of the call, else cut through its sound, else empty."""
    edges = st.sampled_from(edges_of(segments))
    kind = draw(st.integers(0, 19))
    last = edges_of(segments)[-1]
    if kind == 19:
        return last - 500, last - 500
    if kind >= 16:
        start = max(0, draw(edges) + draw(near(-200, 0)))
        return start, max(start, last + 2000)
    if kind >= 12:
        return 0, draw(edges) + draw(near(0, 200, 3000))
    return 0, last + draw(near(500, 3000, 6000))


@st.composite
def call_ends(draw: st.DrawFn, caller: list[Interval]) -> list[int]:
    """Draw the starts of end-of-call tools: mostly none, else near an edge or 3000 ms after."""
    if draw(st.integers(0, 3)) < 3:
        return []
    edges = st.sampled_from(edges_of(caller))
    after = near(-500, 0, 500, 1500, 3000)
    times = draw(st.lists(st.tuples(edges, after), min_size=1, max_size=2))
    return sorted(edge + late for edge, late in times)


@st.composite
def timelines(draw: st.DrawFn) -> TimelineInput:
    """Draw ``(caller, agent, window, end_call_times)``: sorted segments, ms, never negative.

    Segments of one channel may touch, overlap, be empty, or lie beyond the window; the window
    may be empty; any side may be silent.
    """
    caller = lay_out(draw(_OWN), _FIRST_SOUND_MS)
    if draw(st.integers(0, 4)) < 4:
        agent = hang_on(caller, draw(_HANGING))
    else:
        agent = lay_out(draw(_OWN), _FIRST_SOUND_MS - 1000)
    window = draw(windows(sorted(caller + agent)))
    return caller, agent, window, draw(call_ends(caller))


@st.composite
def tool_traces(draw: st.DrawFn, edges: list[int]) -> list[tuple[int | None, int | None]] | None:
    """Draw ``(start, end)`` of tool calls near edges; None for no trace, or for no time."""
    if draw(st.integers(0, 9)) == 0:
        return None
    edge = st.sampled_from(edges or [_FIRST_SOUND_MS])
    tools: list[tuple[int | None, int | None]] = []
    for at, late, lasts, lacks in draw(
        st.lists(
            st.tuples(edge, near(-500, 0, 0, 500, 3000), near(50, 1000, 3000), st.integers(0, 15)),
            max_size=4,
        )
    ):
        start = max(0, at + late)
        tools.append((None if lacks == 0 else start, None if lacks == 1 else start + lasts))
    return tools
