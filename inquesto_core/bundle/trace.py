"""Which actions a tool trace holds: arguments decoded, clock moved, repeated deliveries joined.

Arguments may be an object, JSON text of one, or such text encoded once more; an empty text and null
are no arguments. What cannot be decoded makes the trace unreadable, except on a call that was not
performed (cancelled, missing, or failed): a cut-off stream of arguments is normal there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle.call import STAGES, ReportedStages, ToolCall, ToolTrace
from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["build_trace", "decode_arguments", "trace_times_outside"]

FILE = "trace.json"

#: Text inside text is decoded this often; a third layer is refused.
MAX_DECODES = 2

#: Of two deliveries of one call, the one that says more about its outcome is kept.
_SAYS_MORE = ("unknown", "missing", "cancelled", "error", "ok")

_NOT_PERFORMED = ("cancelled", "missing", "error")


def decode_arguments(value: Any) -> dict[str, Any]:
    r"""Return tool arguments as an object, decoded at most twice.

    Raises
    ------
    SchemaError
        Code ``arguments_unparseable``: not JSON, not an object, or encoded three times.

    Examples
    --------
    >>> decode_arguments('"{\\"amount\\": 50}"')
    {'amount': 50}
    >>> decode_arguments("")
    {}
    """
    decodes = 0
    while isinstance(value, str) and value.strip():
        if decodes == MAX_DECODES:
            raise SchemaError(_undecodable("is JSON text inside JSON text inside JSON text"))
        try:
            value = strict_json(value.encode("utf-8"))
        except SchemaError as exc:
            raise SchemaError(_undecodable(f"is no JSON: {exc.problem.found}")) from exc
        decodes += 1
    if value is None or isinstance(value, str):
        return {}
    if not isinstance(value, dict):
        raise SchemaError(_undecodable(f"holds {type(value).__name__}, not an object"))
    return value


def build_trace(value: Mapping[str, Any], *, offset_ms: int) -> tuple[ToolTrace, list[Problem]]:
    """Return the trace in a valid `trace.json` on the recording's clock, and its warnings.

    Parameters
    ----------
    value : mapping
        Content of `trace.json`, valid under its schema.
    offset_ms : int
        Added to every time: ``t_audio = t_file + offset_ms``.

    Returns
    -------
    trace : ToolTrace
        One `ToolCall` an action. The same id, name and arguments delivered twice are one action
        (``duplicate_dispatch``), at the first place, with the outcome that says more; two ids are
        two actions, whatever they share.
    problems : list of Problem
        Warnings only.

    Raises
    ------
    SchemaError
        Code ``arguments_unparseable`` on a call that was or may have been performed.
    """
    calls, problems = _actions(value["calls"], offset_ms)
    told = value.get("caller_calls")
    theirs, more = _caller_actions(told or (), offset_ms)
    responses = value.get("responses")
    trace = ToolTrace(
        calls=tuple(calls),
        caller_calls=None if told is None else tuple(theirs),
        responses=None if responses is None else tuple(responses),
        stages=_stages(value.get("stages")),
    )
    return trace, problems + more


def _stages(value: Mapping[str, Any] | None) -> ReportedStages | None:
    if value is None:
        return None
    told = {
        f"{stage}_ms": tuple(
            None if each is None else int(each) for each in value.get(f"{stage}_ms") or ()
        )
        for stage in STAGES
    }
    return ReportedStages(source=value["source"], **told)


def _caller_actions(
    rows: Sequence[Mapping[str, Any]], offset_ms: int
) -> tuple[list[ToolCall], list[Problem]]:
    try:
        calls, problems = _actions(rows, offset_ms)
    except SchemaError as exc:
        raise SchemaError(_of_caller(exc.problem)) from exc
    return calls, [_of_caller(problem) for problem in problems]


def _of_caller(problem: Problem) -> Problem:
    return replace(problem, pointer=(problem.pointer or "").replace("/calls/", "/caller_calls/", 1))


def _actions(
    rows: Sequence[Mapping[str, Any]], offset_ms: int
) -> tuple[list[ToolCall], list[Problem]]:
    problems: list[Problem] = []
    calls: list[ToolCall] = []
    seen: dict[tuple[str, str, bytes], int] = {}
    for position, row in enumerate(rows):
        call, warnings = _tool_call(position, row, offset_ms)
        problems += warnings
        if call.id is not None:
            key = (call.id, call.name, canonical_bytes(call.arguments))
            if key in seen:
                first = calls[seen[key]]
                calls[seen[key]] = _merged(first, call)
                problems.append(_duplicate(first, call))
                continue
            seen[key] = len(calls)
        calls.append(call)
    return calls, problems


def trace_times_outside(trace: ToolTrace, duration_ms: int) -> tuple[Problem, ...]:
    """Return a warning ``trace_time_outside`` for each time before the call or after its end.

    Parameters
    ----------
    trace : ToolTrace
        On the recording's clock.
    duration_ms : int
        Length of the recording; a time equal to it is inside.
    """
    return tuple(
        Problem(
            code="trace_time_outside",
            found=f"is {at_ms} ms after the start of the recording",
            expected=f"0 to {duration_ms} ms",
            remedy="check trace_offset_ms in call.json",
            file=FILE,
            pointer=f"/calls/{call.position}/{name}",
            level="warning",
        )
        for call in trace.calls
        for name, at_ms in (("start_ms", call.start_ms), ("end_ms", call.end_ms))
        if at_ms is not None and not 0 <= at_ms <= duration_ms
    )


def _tool_call(
    position: int, row: Mapping[str, Any], offset_ms: int
) -> tuple[ToolCall, list[Problem]]:
    status = row.get("status", "unknown")
    problems: list[Problem] = []
    written = row["arguments"] if "arguments" in row else row.get("raw_arguments")
    pointer = f"/calls/{position}/arguments"
    arguments: dict[str, Any] | None
    try:
        arguments = decode_arguments(written)
    except SchemaError as exc:
        problem = replace(exc.problem, file=FILE, pointer=pointer)
        if status not in _NOT_PERFORMED:
            raise SchemaError(problem) from exc
        arguments = None
        problems.append(replace(problem, level="warning"))
    raw = row.get("raw_arguments")
    start_ms, end_ms = _moved(row.get("start_ms"), offset_ms), _moved(row.get("end_ms"), offset_ms)
    if start_ms is not None and end_ms is not None and end_ms < start_ms:
        problems.append(_reversed(position, start_ms, end_ms))
        end_ms = None
    call = ToolCall(
        position=position,
        id=row.get("id"),
        name=row["name"],
        arguments=arguments,
        raw_arguments=raw if raw is not None or not isinstance(written, str) else written,
        result=row.get("result"),
        status=status,
        start_ms=start_ms,
        end_ms=end_ms,
    )
    return call, problems


def _moved(at_ms: int | None, offset_ms: int) -> int | None:
    return None if at_ms is None else int(at_ms) + offset_ms


def _merged(first: ToolCall, again: ToolCall) -> ToolCall:
    other, best = sorted((again, first), key=lambda call: _SAYS_MORE.index(call.status))
    return replace(
        first,
        status=best.status,
        result=other.result if best.result is None else best.result,
        start_ms=again.start_ms if first.start_ms is None else first.start_ms,
        end_ms=other.end_ms if best.end_ms is None else best.end_ms,
    )


def _duplicate(first: ToolCall, again: ToolCall) -> Problem:
    return Problem(
        code="duplicate_dispatch",
        found=f"repeats /calls/{first.position}: the same id, name and arguments",
        expected="every action once",
        remedy="counted once",
        file=FILE,
        pointer=f"/calls/{again.position}",
        level="warning",
    )


def _reversed(position: int, start_ms: int, end_ms: int) -> Problem:
    return Problem(
        code="trace_time_reversed",
        found=f"ends {start_ms - end_ms} ms before it starts",
        expected="an end at or after the start",
        remedy="the end is taken as unknown",
        file=FILE,
        pointer=f"/calls/{position}/end_ms",
        level="warning",
    )


def _undecodable(found: str) -> Problem:
    return Problem(
        code="arguments_unparseable",
        found=found,
        expected="an object, JSON text of one (encoded at most twice), or nothing",
    )
