"""A call drawn to scale in text: one lane a side, one for tool calls, one for events.

A column is a fixed stretch of time and shows what touches it, so that no sound is too short to be
seen. ``X`` needs true simultaneous sound, not two sounds in one column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["format_time", "timeline_lines"]

COLUMNS = 60
#: The finest scale whose rows are no more than `MAX_ROWS` is taken, else the coarsest.
COLUMN_MS = (250, 500, 1000, 2500, 5000, 10_000)
MAX_ROWS = 40

SPEECH, PAUSE, REJECTED, BOTH, OUTSIDE = "#", "-", ":", "X", "."
TOOL, TOOL_RUNS, EVENT_LASTS = "T", "=", "~"
_SIDES = {"caller": "utterances", "agent": "turns"}
_LEGEND = (
    f"  {SPEECH} speaking  {PAUSE} pause within an utterance or turn  {BOTH} both at once",
    f"  {REJECTED} sound not counted (echo, noise, ...)  {OUTSIDE} outside the scored window",
    f"  {TOOL}{TOOL_RUNS} tool call  1-5 event by severity, {EVENT_LASTS} while it lasts",
)

Row = dict[str, Any]
Span = tuple[int, int]


def format_time(at_ms: int | None) -> str:
    """Return a time as minutes, seconds and milliseconds; a dash where it is not known.

    >>> format_time(72_345), format_time(None)
    ('1:12.345', '–')
    """
    if at_ms is None:
        return "–"
    seconds, rest = divmod(abs(at_ms), 1000)
    sign = "-" if at_ms < 0 else ""
    return f"{sign}{seconds // 60}:{seconds % 60:02d}.{rest:03d}"


def timeline_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the drawn call in lines of at most 80 columns, legend first.

    Parameters
    ----------
    facts : mapping
        ``call``, and lists of rows ``segments``, ``utterances``, ``turns``, ``tool_calls``,
        ``events``, with the columns of those tables; what has no time is not drawn.
    """
    end = _end_ms(facts)
    if end <= 0:
        return ["  nothing of this call has a time"]
    column_ms = next(
        (size for size in COLUMN_MS if end <= size * COLUMNS * MAX_ROWS), COLUMN_MS[-1]
    )
    lanes = _lanes(facts, columns=-(-end // column_ms), column_ms=column_ms)
    row_ms = column_ms * COLUMNS
    scale = (
        f"  a row is {row_ms / 1000:g} s, a column {column_ms} ms; rows begin at minutes:seconds"
    )
    lines = [scale, *_LEGEND, "", _ruler(row_ms)]
    silent_from: int | None = None
    for at in range(0, -(-end // column_ms), COLUMNS):
        shown = {name: lane[at : at + COLUMNS] for name, lane in lanes.items()}
        at_ms = at * column_ms
        if all(set(part) <= {" ", OUTSIDE} for part in shown.values()):
            silent_from = at_ms if silent_from is None else silent_from
            continue
        lines += _silence(silent_from, at_ms)
        silent_from = None
        lines += _row(shown, at_ms)
    return lines + _silence(silent_from, end)


def _times(facts: Mapping[str, Any]) -> Iterator[int]:
    call = facts["call"]
    yield from (call[key] for key in ("duration_ms", "window_to_ms") if call[key] is not None)
    for name in ("segments", "utterances", "turns", "tool_calls", "events"):
        for row in facts[name]:
            yield from (row[key] for key in ("start_ms", "at_ms", "end_ms") if row.get(key))


def _end_ms(facts: Mapping[str, Any]) -> int:
    return max(_times(facts), default=0)


def _paint(lane: list[str], span: Span, mark: str, column_ms: int) -> None:
    """Mark every column that the half-open span touches, at least the one it begins in."""
    first = max(span[0] // column_ms, 0)
    last = max(-(-span[1] // column_ms), first + 1)
    for column in range(first, min(last, len(lane))):
        lane[column] = mark


def _spans(rows: Iterable[Row], start: str = "start_ms") -> list[Span]:
    """Return where rows lie; one without an end is a moment, one without a start is left out."""
    return [
        (row[start], row[start] if row["end_ms"] is None else row["end_ms"])
        for row in rows
        if row[start] is not None
    ]


def _shared(one: Sequence[Span], other: Sequence[Span]) -> Iterator[Span]:
    """Yield what two sorted lists of spans have in common."""
    left = right = 0
    while left < len(one) and right < len(other):
        low, high = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if low < high:
            yield low, high
        if one[left][1] <= other[right][1]:
            left += 1
        else:
            right += 1


def _lanes(facts: Mapping[str, Any], *, columns: int, column_ms: int) -> dict[str, list[str]]:
    lanes = {name: [" "] * columns for name in (*_SIDES, "tools", "events")}
    heard = {}
    for side, joined in _SIDES.items():
        lane, rows = lanes[side], [row for row in facts["segments"] if row["channel"] == side]
        heard[side] = sorted(_spans(row for row in rows if row["rejected"] is None))
        refused = _spans(row for row in rows if row["rejected"] is not None)
        _paint_outside(lane, facts["call"], column_ms)
        for spans, mark in (
            (_spans(facts[joined]), PAUSE),
            (refused, REJECTED),
            (heard[side], SPEECH),
        ):
            for span in spans:
                _paint(lane, span, mark, column_ms)
    for span in _shared(heard["caller"], heard["agent"]):
        for side in _SIDES:
            _paint(lanes[side], span, BOTH, column_ms)
    tools = _spans(facts["tool_calls"])
    for span in tools:
        _paint(lanes["tools"], span, TOOL_RUNS, column_ms)
    for start, _ in tools:
        _paint(lanes["tools"], (start, start), TOOL, column_ms)
    _paint_events(lanes["events"], facts["events"], column_ms)
    return lanes


def _paint_outside(lane: list[str], call: Row, column_ms: int) -> None:
    """Mark the columns that lie wholly outside the scored window."""
    low, high = call["window_from_ms"], call["window_to_ms"]
    for column in range(len(lane)):
        before = low is not None and (column + 1) * column_ms <= low
        after = high is not None and column * column_ms >= high
        if before or after:
            lane[column] = OUTSIDE


def _paint_events(lane: list[str], events: Iterable[Row], column_ms: int) -> None:
    """Draw every event's stretch, then where each begins: the most severe stays visible."""
    timed = [row for row in events if row["at_ms"] is not None]
    for span in _spans(timed, "at_ms"):
        _paint(lane, span, EVENT_LASTS, column_ms)
    for row in sorted(timed, key=lambda row: int(row["severity"])):
        _paint(lane, (row["at_ms"], row["at_ms"]), str(row["severity"]), column_ms)


def _ruler(row_ms: int) -> str:
    ticks = "".join(
        f"|+{row_ms * part // 3000:g} s".ljust(COLUMNS // 3) for part in range(3)
    )  # three ticks a row
    return f"{'':14} {ticks}".rstrip()


def _clock(at_ms: int) -> str:
    return f"{at_ms // 60_000}:{at_ms // 1000 % 60:02d}"


def _row(lanes: Mapping[str, list[str]], at_ms: int) -> list[str]:
    lines = []
    for name, lane in lanes.items():
        drawn = "".join(lane)
        if name in _SIDES:
            begin = _clock(at_ms) if name == "caller" else ""
            lines.append(f"{begin:>6} {name:<6} |{drawn:<{COLUMNS}}|")
        elif drawn.strip():
            lines.append(f"{'':6} {name:<6}  {drawn}".rstrip())
    return lines


def _silence(from_ms: int | None, to_ms: int) -> list[str]:
    if from_ms is None:
        return []
    return [f"{_clock(from_ms):>6} (nothing until {_clock(to_ms)})"]
