"""A call drawn to scale in text: one lane a side, one for waits, tool calls and events.

A column is a fixed stretch of time and shows what touches it, so that no sound is too short to be
seen. ``X`` needs true simultaneous sound, not two sounds in one column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.reasons import REJECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["format_time", "timeline_lines"]

COLUMNS = 60
#: The finest scale whose rows are no more than `MAX_ROWS` is taken, else the coarsest.
COLUMN_MS = (250, 500, 1000, 2500, 5000, 10_000)
MAX_ROWS = 40

SPEECH, PAUSE, BOTH, OUTSIDE, OTHER = "#", "-", "X", ".", "o"
TOOL, TOOL_RUNS, EVENT_LASTS = "T", "=", "~"
REPLIED, NO_REPLY, OPEN = ">", "!", "?"
_SIDES = {"caller": "utterances", "agent": "turns"}
_NOTES = ("wait", "tools", "events")
_WAITS = {"replied": REPLIED, "no_reply": NO_REPLY, "censored": OPEN}
_WAIT_WORDS = {"replied": "", "no_reply": "no reply ", "censored": "open "}
#: Lanes in which a mark may stand, the mark, and what it means; only those that are drawn are told.
_LEGEND = (
    ("sides", SPEECH, "speaking"),
    ("sides", PAUSE, "pause within"),
    ("sides", BOTH, "both at once"),
    ("sides", OUTSIDE, "not scored"),
    *(("sides", mark, f"not counted: {words}") for mark, words in REJECTED.values()),
    ("sides", OTHER, "not counted"),
    ("wait", REPLIED, "until the reply"),
    ("wait", NO_REPLY, "no reply"),
    ("wait", OPEN, "wait cut off"),
    ("tools", TOOL, f"tool call ({TOOL_RUNS} goes on)"),
)
_EVENT_LEGEND = f"1-5 event of that severity ({EVENT_LASTS} lasts)"

Row = dict[str, Any]
Span = tuple[int, int]
Lanes = dict[str, list[str]]


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
        ``call``, and lists of rows ``segments``, ``utterances``, ``turns``, ``replies``,
        ``tool_calls``, ``events``, with the columns of those tables; what has no time is not drawn.
    """
    end = _end_ms(facts)
    if end <= 0:
        return ["  nothing of this call has a time"]
    column_ms = next(
        (size for size in COLUMN_MS if end <= size * COLUMNS * MAX_ROWS), COLUMN_MS[-1]
    )
    columns = -(-end // column_ms)
    lanes = _lanes(facts, columns=columns, column_ms=column_ms)
    row_ms = column_ms * COLUMNS
    lines = [
        f"  a row is {row_ms / 1000:g} s, a column {column_ms} ms; rows begin at minutes:seconds",
        *_legend(lanes),
        "",
        _ruler(row_ms),
    ]
    _write_notes(lanes, facts, column_ms)
    silent_from: int | None = None
    for at in range(0, columns, COLUMNS):
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


def _columns(span: Span, column_ms: int) -> Span:
    """Return the columns that the half-open span touches, at least the one it begins in."""
    first = max(span[0] // column_ms, 0)
    return first, max(-(-span[1] // column_ms), first + 1)


def _paint(lane: list[str], span: Span, mark: str, column_ms: int) -> None:
    first, last = _columns(span, column_ms)
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


def _lanes(facts: Mapping[str, Any], *, columns: int, column_ms: int) -> Lanes:
    """Return the lanes as whole rows of columns, everything but words drawn."""
    whole_rows = -(-columns // COLUMNS) * COLUMNS
    lanes = {name: [" "] * whole_rows for name in (*_SIDES, *_NOTES)}
    heard = {}
    for side, joined in _SIDES.items():
        lane, rows = lanes[side], [row for row in facts["segments"] if row["channel"] == side]
        heard[side] = sorted(_spans(row for row in rows if row["rejected"] is None))
        _paint_outside(lane, facts["call"], columns=columns, column_ms=column_ms)
        for span in _spans(facts[joined]):
            _paint(lane, span, PAUSE, column_ms)
        for row in rows:
            if row["rejected"] is not None:
                mark, _ = REJECTED.get(row["rejected"], (OTHER, ""))
                _paint(lane, (row["start_ms"], row["end_ms"]), mark, column_ms)
        for span in heard[side]:
            _paint(lane, span, SPEECH, column_ms)
    for span in _shared(heard["caller"], heard["agent"]):
        for side in _SIDES:
            _paint(lanes[side], span, BOTH, column_ms)
    for start, end, mark, _ in _waits(facts):
        _paint(lanes["wait"], (start, end), mark, column_ms)
    tools = _spans(facts["tool_calls"])
    for span in tools:
        _paint(lanes["tools"], span, TOOL_RUNS, column_ms)
    for start, _ in tools:
        _paint(lanes["tools"], (start, start), TOOL, column_ms)
    _paint_events(lanes["events"], facts["events"], column_ms)
    return lanes


def _waits(facts: Mapping[str, Any]) -> Iterator[tuple[int, int, str, str]]:
    """Yield each wait's start, end, mark and words."""
    for row in facts["replies"]:
        took = row["waited_ms"] if row["latency_ms"] is None else row["latency_ms"]
        if row["clock_ms"] is not None and took is not None and row["status"] in _WAITS:
            words = f"C{row['utterance']} {_WAIT_WORDS[row['status']]}{took} ms"
            yield row["clock_ms"], row["clock_ms"] + took, _WAITS[row["status"]], words


def _paint_outside(lane: list[str], call: Row, *, columns: int, column_ms: int) -> None:
    """Mark the columns that lie wholly outside the scored window."""
    low, high = call["window_from_ms"], call["window_to_ms"]
    for column in range(columns):
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


def _legend(lanes: Lanes) -> list[str]:
    """Return what the marks mean that are drawn, in lines of at most 80 columns."""
    drawn = {name: set(lane) for name, lane in lanes.items()}
    drawn["sides"] = drawn["caller"] | drawn["agent"]
    items = [f"{mark} {words}" for lane, mark, words in _LEGEND if mark in drawn[lane]]
    items += [_EVENT_LEGEND] if drawn["events"] > {" "} else []
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + 2 + len(item) <= 80:
            lines[-1] += f"  {item}"
        else:
            lines.append(f"  {item}")
    return lines


def _write_notes(lanes: Lanes, facts: Mapping[str, Any], column_ms: int) -> None:
    """Name waits, tool calls and events beside their marks, where there is room."""
    _write(lanes["wait"], [(a, b, words) for a, b, _, words in _waits(facts)], column_ms)
    for name, rows, start, words in (
        ("tools", facts["tool_calls"], "start_ms", "name"),
        ("events", facts["events"], "at_ms", "type"),
    ):
        named = [row for row in rows if row[start] is not None]
        spans = _spans(named, start)
        _write(
            lanes[name],
            [(*span, str(row[words])) for span, row in zip(spans, named, strict=True)],
            column_ms,
        )


def _write(lane: list[str], notes: Iterable[tuple[int, int, str]], column_ms: int) -> None:
    """Write each text after its mark, else before it, else not at all; touching marks share one."""
    groups: list[tuple[int, int, list[str]]] = []
    for start, end, text in sorted(notes):
        first, stop = _columns((start, end), column_ms)
        if groups and first <= groups[-1][1]:
            begin, last, texts = groups.pop()
            groups.append((begin, max(last, stop), [*texts, text]))
        else:
            groups.append((first, stop, [text]))
    for first, stop, texts in groups:
        text = ", ".join(dict.fromkeys(texts))
        if not (text.isascii() and text.isprintable()):
            continue
        for at in (stop + 1, first - 1 - len(text)):
            row_begin = (stop - 1 if at > stop else first) // COLUMNS * COLUMNS
            inside = row_begin <= at and at + len(text) <= row_begin + COLUMNS
            around = lane[max(at - 1, row_begin) : at + len(text) + 1]
            beyond = at + len(text) < len(lane) and (at + len(text)) % COLUMNS != 0
            free = around if beyond else around[: len(text) + 1]
            if inside and set(free) == {" "}:
                lane[at : at + len(text)] = text
                break


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
