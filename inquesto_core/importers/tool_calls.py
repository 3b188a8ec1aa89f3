"""Which tool calls an export holds: requests and results paired, arguments decoded, status said.

Whether a call was performed is never assumed. A platform that says so gives ``ok`` or ``error``; a
result without a word on its success is ``unknown``; a call that no result came back for is
``missing``. Rows that repeat a call stay: reading a trace counts them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Inferred, ToolCall
from inquesto_core.bundle.trace import decode_arguments
from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.errors import Problem, SchemaError
from inquesto_core.importers.fields import Node, problem_at

if TYPE_CHECKING:
    from inquesto_core.bundle.call import ToolStatus

__all__ = ["Result", "paired", "parsed_result", "requested", "status_note", "status_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came back from a tool call, and where: its id, or its name where calls have no ids."""

    row: Node
    id: str | None
    name: str | None = None
    value: Any = None
    status: ToolStatus = "unknown"
    end_ms: int | None = None


def requested(
    row: Node,
    *,
    call_id: str | None,
    name: str,
    arguments: Node | None,
    start_ms: int | None = None,
) -> tuple[ToolCall, tuple[Problem, ...]]:
    """Return a tool call whose result is still missing, and a warning where it cannot be read.

    Parameters
    ----------
    row : Node
        Where the call stands in the export.
    arguments : Node or None
        An object, JSON text of one, that text encoded once more, or nothing.
    """
    raw = None if arguments is None else arguments.value
    problems: tuple[Problem, ...] = ()
    decoded: dict[str, Any] | None
    try:
        decoded = decode_arguments(raw)
    except SchemaError as exc:
        decoded = None
        where = arguments or row
        problems = (
            replace(
                exc.problem,
                file=where.file,
                pointer=where.pointer,
                level="warning",
                remedy="kept as text: if the call was performed, its trace is not evaluated",
            ),
        )
        if not isinstance(raw, str):
            raw = canonical_bytes(raw).decode("utf-8")
    call = ToolCall(
        position=0,
        id=call_id,
        name=name,
        arguments=decoded,
        raw_arguments=raw if isinstance(raw, str) and raw.strip() else None,
        status="missing",
        start_ms=start_ms,
    )
    return call, problems


def paired(
    calls: Iterable[ToolCall], results: Iterable[Result]
) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    """Return the calls with what came back for them, and a warning for what answers none.

    A result belongs to the calls of its id. One without an id belongs to the first call of its
    name, in order, that has none yet. Of several results of one id the last that says something
    stands, as a result replaces the placeholder before it.
    """
    by_id: dict[str, Result] = {}
    by_name: dict[str | None, list[Result]] = {}
    for result in results:
        if result.id is None:
            by_name.setdefault(result.name, []).append(result)
        elif result.id not in by_id or result.status != "missing":
            by_id[result.id] = result
    told: list[ToolCall] = []
    answered: set[str] = set()
    for position, call in enumerate(calls):
        waiting = by_name.get(call.name)
        found = by_id.get(call.id) if call.id is not None else None
        if found is not None and found.id is not None:
            answered.add(found.id)
        elif waiting:
            found = waiting.pop(0)
        told.append(_answered(replace(call, position=position), found))
    left = [result for id_, result in by_id.items() if id_ not in answered]
    left += [result for waiting in by_name.values() for result in waiting]
    return tuple(told), tuple(_unasked(result) for result in left)


def _unasked(result: Result) -> Problem:
    return problem_at(
        result.row,
        code="result_unmatched",
        found="is the result of a tool call that the export does not hold",
        expected="every call beside its result",
        remedy="left out: if the call was performed, the trace lacks it",
        level="warning",
    )


def _answered(call: ToolCall, result: Result | None) -> ToolCall:
    if result is None:
        return call
    is_decided = call.status not in {"missing", "unknown"}
    return replace(
        call,
        result=result.value,
        status=call.status if is_decided else result.status,
        end_ms=result.end_ms,
    )


def status_note(platform: str, tools: Sequence[ToolCall] | None) -> tuple[Inferred, ...]:
    """Return how statuses were told where a platform says of no call whether it succeeded."""
    if not tools:
        return ()
    how = f"{platform} does not say whether a tool succeeded: unknown with a result, else missing"
    return (Inferred(field="/trace/calls/status", value="unknown", how=how),)


def status_of(*, has_failed: bool | None) -> ToolStatus:
    """Return a call's status by what its platform says of its failure; None = nothing."""
    if has_failed is None:
        return "unknown"
    return "error" if has_failed else "ok"


def parsed_result(text: Any) -> Any:
    """Return what a result's text holds: the JSON value in it, or the text as it is.

    >>> parsed_result('{"plan": "Pro"}'), parsed_result("no such account")
    ({'plan': 'Pro'}, 'no such account')
    """
    if not isinstance(text, str):
        return text
    try:
        value = strict_json(text.encode("utf-8"))
    except SchemaError:
        return text
    return value if isinstance(value, Mapping | list) else text
