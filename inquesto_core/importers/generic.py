"""Any CSV, JSON or lines of JSON, by a mapping that says what each field means.

Nothing is taken for granted: a unit, role or channel that the mapping does not name is refused or
absent. The channels of a recorder that orders them as it likes can be a field of the export.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inquesto_core.bundle import Ended, FinalState, ToolCall, TranscriptTurn, Word
from inquesto_core.errors import Problem, SchemaError
from inquesto_core.importers.clock import instant_text, since, start_note
from inquesto_core.importers.draft import Draft, ImportOptions, ToldLength, Track
from inquesto_core.importers.exports import Export, documents
from inquesto_core.importers.fields import Node
from inquesto_core.importers.heard import heard_until
from inquesto_core.importers.mapping import (
    called_columns,
    called_keys,
    chosen,
    columns_of,
    instant,
    integer,
    located,
    moment,
    text,
    unit_words,
)
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.tool_calls import requested

if TYPE_CHECKING:
    from inquesto_core.bundle.call import EndedBy, Speaker, ToolStatus

__all__ = ["IMPORTER"]

Row = Mapping[str, Any]

_STATUSES = ("ok", "error", "cancelled", "missing", "unknown")
_ENDERS = ("agent", "caller", "system", "unknown")


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the calls in a document: its list, the groups of its rows, or itself."""
    mapping: Row = options.mapping
    root = located(document, mapping["calls"]) if mapping.get("calls") else document
    if root is None:
        document.refuse(f"has nothing at {mapping['calls']}", "the calls, as the mapping says")
    if root.file.lower().endswith(".csv"):
        _require_columns(root, called_columns(mapping), root.rows())
    if "group_by" in mapping:
        return _groups(root, mapping["group_by"])
    return root.rows() if isinstance(root.value, list) else (root,)


def _require_columns(root: Node, wanted: Sequence[str], rows: Sequence[Node]) -> None:
    """Refuse a table that lacks a column which the mapping names."""
    if not rows:
        return
    columns = rows[0].members()
    missing = [column for column in wanted if column not in columns]
    if missing:
        root.refuse(
            f'has no column "{missing[0]}"; columns are ' + ", ".join(columns),
            "the columns that the mapping names",
            "correct the name in the mapping, or in the head of the table",
        )


def _groups(root: Node, column: str) -> Sequence[Node]:
    """Return one call a value of a column: its first row, with all of them under ``rows``."""
    groups: dict[str, list[Node]] = {}
    for row in root.rows():
        key = text(row, {"key": column}, "key")
        if key is None:
            row.refuse(f"has no {column}", "a value by which rows are grouped")
        groups.setdefault(key, []).append(row)
    return [
        Node({**rows[0].members(), "rows": [row.value for row in rows]}, root.file, rows[0].pointer)
        for rows in groups.values()
    ]


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a mapping makes of one call."""
    mapping: Row = options.mapping
    fields: Row = mapping["call"]
    call_id = text(call, fields, "call_id")
    if call_id is None:
        call.refuse("has no call id where the mapping says", "a call id")
    recording_ms = instant(call, mapping, "recording_started")
    recording_ms = options.recording_started_ms if recording_ms is None else recording_ms
    tools, problems = _tools(call, export, call_id, mapping, recording_ms)
    problems = (*_keys_missing(call, call_id, mapping), *problems)
    started_ms, ended_ms = instant(call, fields, "started_at"), instant(call, fields, "ended_at")
    tags = _texts(call, mapping.get("tags", {}))
    facts = {**{f"tag.{name}": value for name, value in tags.items()}}
    facts.update(_texts(call, mapping.get("facts", {})))
    return Draft(
        call_id=call_id,
        platform=text(call, fields, "platform") or "generic",
        tracks=_tracks(call, mapping, recording_ms),
        agent_name=text(call, fields, "agent"),
        agent_fingerprint=text(call, fields, "fingerprint"),
        agent_config={
            name: node.value
            for name, value in mapping.get("config", {}).items()
            if (node := chosen(call, value)) is not None
        },
        direction=text(call, fields, "direction"),
        started_at=None if started_ms is None else instant_text(started_ms),
        ended_at=None if ended_ms is None else instant_text(ended_ms),
        ended=Ended(by=_ended_by(call, fields), reason=text(call, fields, "ended_reason")),
        tools=tools,
        turns=_turns(call, export, call_id, mapping, recording_ms),
        state=_state(call, mapping),
        scenario=_scenario(call, fields),
        facts={name: (value,) for name, value in facts.items()},
        tags=tags,
        lengths=_lengths(call, mapping, recording_ms, started_ms, ended_ms),
        turn_times=_turn_times(mapping),
        ended_ms=tuple(
            (at_ms, what)
            for name, what in (("hang_up", "the hang-up"), ("transfer", "the transfer"))
            if (at_ms := moment(call, mapping, name, recording_ms=recording_ms)) is not None
        ),
        timing_reasons=tuple(mapping.get("timing_reasons", ())),
        inferred=() if "recording_started" in mapping else start_note(options.recording_started_ms),
        problems=problems,
    )


def _keys_missing(call: Node, call_id: str, mapping: Row) -> tuple[Problem, ...]:
    """Return a warning where the call has no key of the name that the mapping gives, null or not.

    In a table each call has every column of the head, and one that is not there is refused.
    """
    there = call.members()
    missing = [key for key in called_keys(mapping) if key not in there]
    if not missing or call.file.lower().endswith(".csv"):
        return ()
    return (
        Problem(
            code="mapped_key_missing",
            call_id=call_id,
            found=f"has no {', '.join(missing)}; keys are " + ", ".join(sorted(there)),
            expected="the keys that the mapping names",
            remedy="correct the name in the mapping; where the export leaves out what is not "
            "known, nothing is to be done",
            level="warning",
        ),
    )


def _lengths(
    call: Node,
    mapping: Row,
    recording_ms: int | None,
    started_ms: int | None,
    ended_ms: int | None,
) -> tuple[ToldLength, ...]:
    """Return how long the call was, by its hang-up and by its instants."""
    fields: Row = mapping["call"]
    found = []
    hang_up_ms = moment(call, mapping, "hang_up", recording_ms=recording_ms)
    if hang_up_ms is not None:
        found.append(_length(call, mapping["hang_up"], hang_up_ms))
    if started_ms is not None and ended_ms is not None:
        found.append(_length(call, fields["ended_at"], ended_ms - started_ms))
    return tuple(found)


def _length(call: Node, told: Row, length_ms: int) -> ToldLength:
    node = located(call, told["from"])
    return ToldLength(
        field=told["from"],
        shown="nothing" if node is None else node.shown(),
        unit=unit_words(told["unit"]),
        length_ms=length_ms,
    )


def _turn_times(mapping: Row) -> tuple[str, str] | None:
    """Return the first field that the mapping takes turns' times from."""
    turns: Row = mapping.get("turns", {})
    for part in (turns, turns.get("words", {})):
        for name in ("start", "end"):
            if name in part:
                return part[name]["from"], unit_words(part[name]["unit"])
    return None


def _texts(call: Node, values: Row) -> dict[str, str]:
    found = {name: text(call, values, name) for name in values}
    return {name: value for name, value in found.items() if value is not None}


def _scenario(call: Node, fields: Row) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: text(call, fields, name) for name in ("scenario_id", "condition", "group")
    }
    found["trial"] = integer(call, fields, "trial")
    return {name: value for name, value in found.items() if value is not None}


def _one_of(row: Node, values: Row, name: str, allowed: tuple[str, ...], otherwise: str) -> str:
    node = chosen(row, values[name]) if name in values else None
    if node is None or node.value is None:
        return otherwise
    if node.value not in allowed:
        node.refuse(
            f"is {node.shown()}",
            "one of " + ", ".join(allowed),
            f'map it in the mapping\'s "{name}"',
        )
    return str(node.value)


def _ended_by(call: Node, fields: Row) -> EndedBy:
    return cast("EndedBy", _one_of(call, fields, "ended_by", _ENDERS, "unknown"))


def _tracks(call: Node, mapping: Row, recording_ms: int | None) -> tuple[Track, ...]:
    tracks = []
    for entry in mapping.get("audio", [{}]):
        name = chosen(call, entry["file"]) if "file" in entry else None
        caller = integer(call, entry, "caller_channel")
        agent = integer(call, entry, "agent_channel")
        duration = located(call, entry["duration"]["from"]) if "duration" in entry else None
        start_ms = moment(call, entry, "start", recording_ms=recording_ms)
        if start_ms is not None and start_ms < 0:
            call.refuse(
                f"has a recording that began {-start_ms} ms before recording_started",
                "recording_started at the first file's first sample",
            )
        tracks.append(
            Track(
                names=() if name is None else (name.text() or "",),
                side=entry.get("side"),
                caller=caller,
                agent=agent,
                known_by=None if caller is None and agent is None else "the mapping",
                start_ms=start_ms or 0,
                duration_ms=None
                if duration is None
                else abs(since(duration, entry["duration"]["unit"], 0)),
                sample_rate_hz=integer(call, entry, "sample_rate_hz"),
            )
        )
    return tuple(tracks)


def _rows(call: Node, export: Path, call_id: str, part: Row) -> Sequence[Node]:
    """Return the rows of turns or tools: in the call, or in a file beside the export."""
    if "file" in part:
        rows: Sequence[Node] = _beside(export, part, call_id)
    else:
        found = located(call, part.get("rows", "/rows"))
        rows = () if found is None else found.rows()
    wanted = {
        column: (allowed,) if isinstance(allowed, str) else tuple(allowed)
        for column, allowed in part.get("where", {}).items()
    }
    return [
        row
        for row in rows
        if all(text(row, {"v": column}, "v") in allowed for column, allowed in wanted.items())
    ]


def _beside(export: Path, part: Row, call_id: str) -> Sequence[Node]:
    path = export.parent / part["file"]
    try:
        about = path.stat()
    except OSError as exc:
        raise SchemaError(
            Problem(
                code="file_missing",
                file=part["file"],
                found=f"cannot be read: {exc.strerror}",
                expected="the file beside the export that the mapping names",
            )
        ) from exc
    stamp = (about.st_mtime_ns, about.st_size)
    column = part.get("join", "call_id")
    wanted = (column, *columns_of({name: part[name] for name in part if name != "file"}))
    return _joined(path, part["file"], column, stamp, wanted).get(call_id, ())


@functools.lru_cache(maxsize=4)
def _joined(
    path: Path, label: str, column: str, stamp: tuple[int, int], wanted: tuple[str, ...]
) -> dict[str, list[Node]]:
    """Return the rows of a file by call id; `stamp` tells one state of the file from the next."""
    rows: dict[str, list[Node]] = {}
    for document in documents(Export(label=label, path=path)):
        if isinstance(document, Problem):
            raise SchemaError(document)
        nodes = document.rows() if isinstance(document.value, list) else (document,)
        if label.lower().endswith(".csv"):
            _require_columns(document, wanted, nodes)
        for row in nodes:
            key = text(row, {"key": column}, "key")
            if key is None:
                row.refuse(f"has no {column}", "the id of the call that it belongs to")
            rows.setdefault(key, []).append(row)
    return rows


def _turns(
    call: Node, export: Path, call_id: str, mapping: Row, recording_ms: int | None
) -> tuple[TranscriptTurn, ...] | None:
    if "turns" not in mapping:
        return None
    part: Row = mapping["turns"]
    turns = []
    for row in _rows(call, export, call_id, part):
        speaker = chosen(row, part["speaker"])
        if speaker is not None and speaker.value is None:
            continue  # mapped to null: neither side's words
        if speaker is None or speaker.value not in ("caller", "agent"):
            found = "has no speaker" if speaker is None else f"is spoken by {speaker.shown()}"
            row.refuse(found, "caller or agent", 'map the speakers in the mapping\'s "turns"')
        spoken = chosen(row, part["text"])
        words = _words(row, part, recording_ms)
        heard = chosen(row, part["heard_text"]) if "heard_text" in part else None
        until_ms = moment(row, part, "heard_until", recording_ms=recording_ms)
        heard_text = None if heard is None else heard.text()
        if heard_text is None and until_ms is not None and words:
            heard_text = heard_until(words, until_ms)
        turns.append(
            TranscriptTurn(
                speaker=cast("Speaker", speaker.value),
                text="" if spoken is None else spoken.text() or "",
                heard_text=heard_text,
                start_ms=moment(row, part, "start", recording_ms=recording_ms),
                end_ms=moment(row, part, "end", recording_ms=recording_ms),
                words=words,
            )
        )
    return tuple(turns)


def _words(row: Node, part: Row, recording_ms: int | None) -> tuple[Word, ...]:
    if "words" not in part:
        return ()
    inner: Row = part["words"]
    found = located(row, inner["rows"])
    return tuple(
        Word(
            word=word,
            start_ms=moment(node, inner, "start", recording_ms=recording_ms),
            end_ms=moment(node, inner, "end", recording_ms=recording_ms),
        )
        for node in (() if found is None else found.rows())
        if (word := text(node, inner, "word")) is not None
    )


def _tools(
    call: Node, export: Path, call_id: str, mapping: Row, recording_ms: int | None
) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    if "tools" not in mapping:
        return None, ()
    part: Row = mapping["tools"]
    tools: list[ToolCall] = []
    problems: list[Problem] = []
    for position, row in enumerate(_rows(call, export, call_id, part)):
        name = text(row, part, "name")
        if name is None:
            row.refuse("has no tool's name where the mapping says", "a name")
        tool, told = requested(
            row,
            call_id=text(row, part, "id"),
            name=name,
            arguments=chosen(row, part["arguments"]) if "arguments" in part else None,
            start_ms=moment(row, part, "start", recording_ms=recording_ms),
        )
        result = chosen(row, part["result"]) if "result" in part else None
        tools.append(
            ToolCall(
                position=position,
                id=tool.id,
                name=name,
                arguments=tool.arguments,
                raw_arguments=tool.raw_arguments,
                result=None if result is None else result.value,
                status=cast("ToolStatus", _one_of(row, part, "status", _STATUSES, "unknown")),
                start_ms=tool.start_ms,
                end_ms=moment(row, part, "end", recording_ms=recording_ms),
            )
        )
        problems += told
    return tuple(tools), tuple(problems)


def _state(call: Node, mapping: Row) -> FinalState | None:
    if "state" not in mapping:
        return None
    found = {name: chosen(call, value) for name, value in mapping["state"].items()}
    if found["before"] is None or found["after"] is None:
        return None
    return FinalState(
        **{name: None if node is None else node.value for name, node in found.items()}
    )


IMPORTER = Importer(
    name="generic",
    holds="a call, a list of calls or rows of calls",
    patterns=("*.json", "*.jsonl", "*.ndjson", "*.csv"),
    calls=calls,
    draft=draft,
)
