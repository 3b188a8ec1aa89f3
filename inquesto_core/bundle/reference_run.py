"""Run folders of the public reference implementation, as it would read them.

A run folder holds ``agent.json`` and one ``calls/<key>.json`` a call: what the agent's runtime
reported of it, the judge's answers, and the result that was stored when the call ended. Truth is
what Python calls true, as it is for the reference: what an answer like ``"n/a"`` *means* is for
`inquesto_core.importers.inquesto_score` to say, which reads the same files strictly.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from inquesto_core.bundle.files import MAX_JSON_BYTES
from inquesto_core.canonical import digest_bytes, strict_json
from inquesto_core.errors import BundleError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "REFERENCE_TABLES",
    "SILENCE_MARKER",
    "ReferenceRuns",
    "is_reference_run",
    "read_reference_runs",
    "reference_agent",
]

#: What the reference's runtime writes down where the agent said nothing.
SILENCE_MARKER = "(silence)"

AGENT_FILE = "agent.json"
_CALLS_FOLDER = "calls"

#: Columns of the tables of `ReferenceRuns`; ``call`` counts calls of all runs, ``run`` the runs.
REFERENCE_TABLES: dict[str, dict[str, pl.DataType | type[pl.DataType]]] = {
    "calls": {
        "call": pl.Int64,
        "run": pl.Int64,
        "key": pl.String,  # the file's name without its ending
        "scenario_id": pl.String,
        "condition": pl.String,
        "group": pl.String,
        "seed": pl.Int64,
        "stored_identity": pl.String,
        "stored_goal": pl.Boolean,
        "has_conversation": pl.Boolean,
        "judged_goal": pl.Boolean,  # the judge's answer; without one the runtime's own word
        "answered_goal": pl.Boolean,  # the judge's answer; without one false
        "context_loss": pl.Boolean,
        "wrong_info": pl.Boolean,
        "disclosed_or_changed": pl.Boolean,
        "refused_service": pl.Boolean,
    },
    "turns": {
        "call": pl.Int64,
        "is_agent": pl.Boolean,
        "is_user": pl.Boolean,
        "start_ms": pl.Float64,
        "end_ms": pl.Float64,
        "barge_in": pl.Boolean,
        "n_words": pl.Int64,  # of the agent's turns
        "is_silent": pl.Boolean,  # an agent's turn of no text, or of the marker
    },
    "latencies": {"call": pl.Int64, "latency_ms": pl.Float64},
    "tool_calls": {"call": pl.Int64, "name": pl.String},
    "stored_events": {"call": pl.Int64, "type": pl.String, "severity": pl.Int64},
}

_READ_BYTES = 1 << 14
#: Turns that are objects at a time: few enough for a processor's cache.
_TURNS_AT_ONCE = 384


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRuns:
    """What the calls of any number of run folders say.

    Parameters
    ----------
    folders : tuple of Path
        By ``run``.
    agents : tuple of mapping
        Each run's ``agent.json``; empty where there is none.
    tables : dict of polars.DataFrame
        `REFERENCE_TABLES`, in the order of runs, files, and rows in a file.
    digests : tuple of (call, file, SHA-256)
        Every file that was read, unless they were not asked for.
    """

    folders: tuple[Path, ...]
    agents: tuple[Mapping[str, Any], ...]
    tables: dict[str, pl.DataFrame]
    digests: tuple[tuple[str, str, str], ...] = ()


def is_reference_run(folder: Path) -> bool:
    """Return whether a folder is a run of the reference: it has calls, and none is a bundle."""
    calls = folder / _CALLS_FOLDER
    return calls.is_dir() and any(calls.glob("*.json"))


def reference_agent(folder: Path) -> dict[str, Any]:
    """Return ``agent.json`` of a run folder; empty where there is none.

    Raises
    ------
    SchemaError, BundleError
        It is no JSON object.
    """
    file = folder / AGENT_FILE
    if not file.is_file():
        return {}
    value = strict_json(file.read_bytes(), file=AGENT_FILE)
    if not isinstance(value, dict):
        raise _unreadable(AGENT_FILE, "is no object")
    return value


def read_reference_runs(
    sources: Sequence[str | Path], *, with_digests: bool = True
) -> ReferenceRuns:
    """Return the calls of run folders, or of folders of run folders, sorted by folder and file.

    Raises
    ------
    BundleError
        ``reference_run_missing``: a source holds no run; ``reference_call_unreadable``: a call file
        that the reference could not have written.
    """
    folders = tuple(folder for source in sources for folder in _runs_in(Path(source)))
    rows = _Rows()
    agents = []
    for run, folder in enumerate(folders):
        agents.append(reference_agent(folder))
        for name, data in _call_files(folder / _CALLS_FOLDER):
            if with_digests:
                label = f"{folder.name}/{_CALLS_FOLDER}/{name}"
                rows.digests.append((name[:-5], label, digest_bytes(data)))
            rows.add(run, name, data)
    return ReferenceRuns(
        folders=folders,
        agents=tuple(agents),
        tables=rows.tables(),
        digests=tuple(rows.digests),
    )


def _runs_in(source: Path) -> list[Path]:
    if is_reference_run(source):
        return [source]
    inner = sorted(each for each in source.iterdir() if each.is_dir()) if source.is_dir() else []
    found = [each for each in inner if is_reference_run(each)]
    if not found:
        raise BundleError(
            Problem(
                code="reference_run_missing",
                file=source.name,
                found="holds no run of the reference implementation",
                expected="a folder with agent.json and calls/*.json, or a folder of such",
                remedy="leave --compat out for call bundles",
            )
        )
    return found


def _call_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the call files, sorted by name; links are not followed."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in _json_names(at):
            try:
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at)
            except OSError as exc:
                raise _unreadable(name, f"cannot be read: {exc.strerror}") from exc
            try:
                data = os.read(file, _READ_BYTES)
                if len(data) == _READ_BYTES:
                    data += _rest(file, name)
            finally:
                os.close(file)
            yield name, data
    finally:
        os.close(at)


def _json_names(folder: int) -> list[str]:
    listed = os.listdir(folder)
    return sorted(name for name in listed if name.endswith(".json"))


def _rest(file: int, name: str) -> bytes:
    parts: list[bytes] = []
    size = _READ_BYTES
    while part := os.read(file, _READ_BYTES):
        parts.append(part)
        size += len(part)
        if size > MAX_JSON_BYTES:
            raise _unreadable(name, f"is larger than {MAX_JSON_BYTES} bytes")
    return b"".join(parts)


def _no_number(name: str) -> float:
    raise ValueError(f"holds {name}, which is no number")


_decoder = json.JSONDecoder(parse_constant=_no_number)


def _document(data: bytes) -> Any:
    """Return what `json.loads` would; most files begin with their value and end with it."""
    text = data.decode()
    if not text.startswith("{"):
        return _decoder.decode(text)
    value, end = _decoder.raw_decode(text)
    if text[end:].strip():
        raise ValueError(f"has more after its value, at character {end}")
    return value


_AGENT, _USER, _OTHER = 1, 0, 2
_IS_SPACE = np.array([chr(code).isspace() for code in range(128)])
_SPEAKERS = {"agent": _AGENT, "user": _USER}


@dataclass(slots=True)
class _Rows:
    """What was taken in: rows of calls, and their turns, latencies and tools as arrays."""

    digests: list[tuple[str, str, str]] = field(default_factory=list)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    sizes: list[tuple[int, int, int]] = field(default_factory=list)  # turns, latencies, tools
    tools: list[Any] = field(default_factory=list)
    stored: list[tuple[Any, ...]] = field(default_factory=list)
    turns: list[Any] = field(default_factory=list)  # of the last few calls, as they stand
    latencies: list[Any] = field(default_factory=list)
    turn_parts: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    latency_parts: list[NDArray[Any]] = field(default_factory=list)

    def add(self, run: int, name: str, data: bytes) -> None:
        """Take in one call file."""
        try:
            self._add(run, name[:-5], _document(data))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as exc:
            raise _unreadable(name, f"{type(exc).__name__}: {exc}") from exc
        if len(self.turns) >= _TURNS_AT_ONCE:
            self._flush()

    def _add(self, run: int, key: str, document: Mapping[str, Any]) -> None:
        result = document["result"]
        conversation = document.get("conversation")
        verdicts: Mapping[str, Any] = {}
        word = False
        if conversation:
            verdicts = conversation.get("metadata", verdicts).get("verdicts") or verdicts
            word = conversation.get("task_completed", False)
            turns = conversation["turns"]
            latencies = conversation.get("response_latencies_ms", ())
            tools = conversation.get("tool_calls", ())
            self.turns += turns
            self.latencies += latencies
            self.tools += tools
            self.sizes.append((len(turns), len(latencies), len(tools)))
        else:
            self.sizes.append((0, 0, 0))
        told = verdicts.get
        answered = told("goal_achieved", word)
        self.calls.append(
            (
                run,
                key,
                result["scenario_id"],
                result["condition"],
                result["group"],
                result["seed"],
                result.get("identity"),
                bool(result["goal_achieved"]),
                bool(conversation),
                bool(answered),
                bool(told("goal_achieved")),
                bool(told("context_loss")),
                bool(told("wrong_info")),
                bool(told("disclosed_or_changed")),
                bool(told("refused_service")),
            )
        )
        events = result.get("events")
        if events:
            at = len(self.calls) - 1
            self.stored += [(at, each["type"], each["severity"]) for each in events]

    def _flush(self) -> None:
        """Let the turns of the last calls become arrays."""
        try:
            self._take_turns()
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as exc:
            found = f"hold a turn or latency of another kind: {type(exc).__name__}: {exc}"
            raise _unreadable(_CALLS_FOLDER, found) from exc

    def _take_turns(self) -> None:
        turns = self.turns
        speaker, start, end, barge_in = _turn_columns(turns)
        texts = [turn["text"] for turn, who in zip(turns, speaker, strict=True) if who == _AGENT]
        words = _word_counts(texts)
        silent = words == 0
        for at in np.flatnonzero(words == 1).tolist():
            silent[at] = texts[at].strip() == SILENCE_MARKER
        self.turn_parts.append(
            (
                np.frombuffer(speaker, dtype=np.uint8),
                np.array(start, dtype=np.float64),
                np.array(end, dtype=np.float64),
                np.frombuffer(barge_in, dtype=np.uint8) > 0,
                words,
                silent,
            )
        )
        self.latency_parts.append(np.array(self.latencies, dtype=np.float64))
        turns.clear()
        self.latencies.clear()

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables of all calls that were taken in."""
        self._flush()
        of = np.arange(len(self.calls))
        sizes = np.array(self.sizes, dtype=np.int64).reshape(-1, 3)
        turns, latencies, tools = (np.repeat(of, sizes[:, at]) for at in range(3))
        speaker, start, end, barge_in, words, silent = (
            np.concatenate(parts) for parts in zip(*self.turn_parts, strict=True)
        )
        n_words, is_silent = np.zeros(len(speaker), dtype=np.int64), np.zeros(len(speaker), bool)
        n_words[speaker == _AGENT], is_silent[speaker == _AGENT] = words, silent
        is_agent, is_user = speaker == _AGENT, speaker == _USER
        columns = {
            "calls": [of, *zip(*self.calls, strict=True)] if self.calls else None,
            "turns": [turns, is_agent, is_user, start, end, barge_in, n_words, is_silent],
            "latencies": [latencies, np.concatenate(self.latency_parts)],
            "tool_calls": [tools, self.tools],
            "stored_events": list(zip(*self.stored, strict=True)) or None,
        }
        return {name: _table(name, values) for name, values in columns.items()}


def _turn_columns(turns: list[dict[str, Any]]) -> tuple[bytes, list[Any], list[Any], bytes]:
    """Return who spoke, when, and whether a turn is flagged; nearly always every key is there."""
    try:
        return (
            bytes([_SPEAKERS[turn["speaker"]] for turn in turns]),
            [turn["start_ms"] for turn in turns],
            [turn["end_ms"] for turn in turns],
            bytes([turn["barge_in"] for turn in turns]),
        )
    except (KeyError, TypeError, ValueError):
        return (
            bytes([_SPEAKERS.get(turn["speaker"], _OTHER) for turn in turns]),
            [turn.get("start_ms", 0) for turn in turns],
            [turn.get("end_ms", 0) for turn in turns],
            bytes([bool(turn.get("barge_in")) for turn in turns]),
        )


def _word_counts(texts: list[str]) -> NDArray[np.int64]:
    """Return ``len(text.split())`` of each text."""
    if not texts:
        return np.zeros(0, dtype=np.int64)
    joined = "\n".join([*texts, ""])
    if not joined.isascii():
        return np.array([len(text.split()) for text in texts], dtype=np.int64)
    space = _IS_SPACE[np.frombuffer(joined.encode("ascii"), dtype=np.uint8)]
    # A word ends where white space follows what is none; every text is followed by a line break.
    ends = np.flatnonzero(space[1:] & ~space[:-1])
    until = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1)
    return np.diff(np.searchsorted(ends, until - 1), prepend=0)


def _table(name: str, values: list[Any] | None) -> pl.DataFrame:
    schema = REFERENCE_TABLES[name]
    if values is None:
        return pl.DataFrame(schema=schema)
    try:
        pairs = zip(schema.items(), values, strict=True)
        return pl.DataFrame(
            [pl.Series(column, value, dtype=dtype) for (column, dtype), value in pairs]
        )
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as exc:
        raise _unreadable(_CALLS_FOLDER, f"hold a value of another kind ({name}: {exc})") from exc


def _unreadable(file: str, found: str) -> BundleError:
    return BundleError(
        Problem(
            code="reference_call_unreadable",
            file=file,
            found=found,
            expected="a call file as the reference implementation writes it",
        )
    )
