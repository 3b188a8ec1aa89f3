"""Calls whose timing is known: what was said when, and what the turn rules make of it.

A folder of calls holds one folder a call with `call.flac` (or `call.wav`) and `truth.json`. What
`truth.json` leaves out of its ``expected`` is made here, by the same turn rules, from its segments.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile

from inquesto_core.evidence import empty_table, make_table
from inquesto_core.timeline import (
    STRUCTURE,
    call_axis,
    measure_timeline,
    protocol_limits,
    timeline_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from inquesto_core.protocol import Protocol
    from inquesto_core.timeline import CallAxis, Limits

__all__ = ["Events", "Reply", "Sound", "TalkOver", "Truth", "apply_rules", "read_truths"]

Interval = tuple[int, int]
_SOUNDS = ("call.flac", "call.wav")
#: How far a structural limit is moved to see which events hang on it; as in the shared set.
_FRAGILE_MS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """Where each side is heard in one call, ms."""

    caller: tuple[Interval, ...]
    agent: tuple[Interval, ...]
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOver:
    """An agent onset and by how much it came before the caller's end, ms."""

    at_ms: int
    value_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of one caller utterance.

    Parameters
    ----------
    value_ms : int or None
        Latency where replied, time waited where no_reply or censored; None = no statistic.
    """

    start_ms: int
    end_ms: int
    status: str
    value_ms: int | None

    def is_slow_or_none(self, limit_ms: int) -> bool:
        """Whether the reply came more than `limit_ms` after the wait began, or never."""
        if self.status == "no_reply":
            return True
        return self.status == "replied" and self.value_ms is not None and self.value_ms > limit_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What the turn rules make of one call's sound."""

    agent_turns: tuple[Interval, ...]
    utterances: tuple[Interval, ...]
    talk_overs: tuple[TalkOver, ...]
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One call whose timing is known.

    Parameters
    ----------
    core_ends : mapping of int to int
        From the outer end of a caller utterance to the end of its loud core.
    hanging_talk_overs : tuple of int
        Agent onsets of talk-overs that a moved fragile limit makes or unmakes.
    hanging_slow : tuple of int
        Ends of caller utterances whose slow or absent reply one makes or unmakes.
    """

    call_id: str
    condition: str
    audio: Path
    caller_channel: int
    agent_channel: int
    sound: Sound
    core_ends: Mapping[int, int]
    events: Events
    hanging_talk_overs: tuple[int, ...] = ()
    hanging_slow: tuple[int, ...] = ()


def _axis(sounds: Mapping[str, Sound], protocol: Protocol) -> CallAxis:
    calls = [
        {
            "call_id": call_id,
            "window_from_ms": 0,
            "window_to_ms": sound.duration_ms,
            "condition_class": "default",
            "timing_reasons": [],
            "warnings": [],
        }
        for call_id, sound in sounds.items()
    ]
    segments = [
        {
            "call_id": call_id,
            "channel": side,
            "start_ms": start,
            "end_ms": end,
            "source": "measured",
        }
        for call_id, sound in sounds.items()
        for side, spans in (("caller", sound.caller), ("agent", sound.agent))
        for start, end in spans
    ]
    return call_axis(
        make_table("calls", calls),
        make_table("segments", segments),
        empty_table("tool_calls"),
        end_tools=(),
        reach_ms=protocol_limits(protocol, 1).reach_ms() + _FRAGILE_MS,
    )


def _events(axis: CallAxis, limits: Limits) -> dict[str, Events]:
    tables = timeline_tables(measure_timeline(axis, limits))
    grouped = {
        name: {key[0]: part.to_dicts() for key, part in table.group_by("call_id")}
        for name, table in tables.items()
    }
    return {
        call_id: Events(
            agent_turns=_spans(grouped["turns"].get(call_id, ())),
            utterances=_spans(grouped["utterances"].get(call_id, ())),
            talk_overs=tuple(
                TalkOver(at_ms=row["at_ms"], value_ms=row["value_ms"])
                for row in grouped["talk_overs"].get(call_id, ())
                if row["counted"]
            ),
            replies=tuple(_reply(row) for row in grouped["replies"].get(call_id, ())),
        )
        for call_id in axis.call_ids
    }


def _spans(rows: Iterable[Mapping[str, Any]]) -> tuple[Interval, ...]:
    return tuple(sorted((row["start_ms"], row["end_ms"]) for row in rows))


def _reply(row: Mapping[str, Any]) -> Reply:
    waited = row.get("waited_ms")
    return Reply(
        start_ms=row["start_ms"],
        end_ms=row["end_ms"],
        status=row["status"],
        value_ms=row.get("latency_ms") if waited is None else waited,
    )


def apply_rules(sounds: Mapping[str, Sound], protocol: Protocol) -> dict[str, Events]:
    """Return what the protocol's turn rules make of each call's sound."""
    axis = _axis(sounds, protocol)
    return _events(axis, protocol_limits(protocol, len(axis)))


def _moved(sounds: Mapping[str, Sound], protocol: Protocol) -> list[dict[str, Events]]:
    """Return the events under each structural limit moved both ways."""
    axis = _axis(sounds, protocol)
    limits = protocol_limits(protocol, len(axis))
    by = np.full(len(axis), _FRAGILE_MS, dtype=np.int64)
    return [_events(axis, limits.moved(name, sign * by)) for name in STRUCTURE for sign in (1, -1)]


def _unsettled(kinds: Sequence[set[int]]) -> tuple[int, ...]:
    """Return what is in some of the sets and not in all."""
    first, *others = kinds
    return tuple(sorted(first.union(*others) - first.intersection(*others)))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _sounding(said: Mapping[str, Any]) -> list[list[float]]:
    """Return an utterance's stretches of sound; one that states none is sound throughout."""
    spans: list[list[float]] | None = said.get("segments_s")
    return [[said["start_s"], said["end_s"]]] if spans is None else spans


def _segments(raw: Mapping[str, Any], side: str) -> tuple[Interval, ...]:
    spans = [
        (_ms(start), _ms(end))
        for said in raw["utterances"]
        if said["channel"] == side
        for start, end in _sounding(said)
    ]
    return tuple(sorted(spans))


def _core_ends(raw: Mapping[str, Any]) -> dict[int, int]:
    return {
        _ms(_sounding(said)[-1][1]): _ms(said["core_end_s"])
        for said in raw["utterances"]
        if said["channel"] == "caller" and "core_end_s" in said
    }


def _stated(expected: Mapping[str, Any]) -> Events:
    """Return the events that `truth.json` states."""
    return Events(
        agent_turns=tuple((a, b) for a, b in expected["agent_turns_ms"]),
        utterances=tuple((a, b) for a, b in expected["utterances_ms"]),
        talk_overs=tuple(
            TalkOver(at_ms=row["agent_start_ms"], value_ms=row["value_ms"])
            for row in expected["talk_overs"]
        ),
        replies=tuple(
            _reply({**row, "start_ms": row["caller_start_ms"], "end_ms": row["caller_end_ms"]})
            for row in expected["replies"]
        ),
    )


def _read(folder: Path) -> tuple[Path, dict[str, Any], Sound]:
    raw = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    audio = next((folder / name for name in _SOUNDS if (folder / name).is_file()), None)
    if audio is None:
        raise FileNotFoundError(f"{folder.name} holds truth.json and none of {', '.join(_SOUNDS)}")
    seconds = raw.get("duration_s")
    sound = Sound(
        caller=_segments(raw, "caller"),
        agent=_segments(raw, "agent"),
        duration_ms=_ms(soundfile.info(str(audio)).duration if seconds is None else seconds),
    )
    return audio, raw, sound


def read_truths(folder: Path, protocol: Protocol) -> tuple[Truth, ...]:
    """Return every call below `folder` that has a `truth.json`, sorted by name.

    Raises
    ------
    FileNotFoundError
        Where there is none, or one has no recording beside it.
    """
    found = {path.parent.name: _read(path.parent) for path in sorted(folder.glob("*/truth.json"))}
    if not found:
        raise FileNotFoundError(f"{folder} holds no call: expected CALL/truth.json")
    sounds = {call_id: sound for call_id, (_, _, sound) in found.items()}
    ruled, moved = apply_rules(sounds, protocol), _moved(sounds, protocol)
    slow_ms = int(protocol.event("slow_turn").parameters["latency_ms"])
    truths = []
    for call_id, (audio, raw, sound) in found.items():
        expected = raw.get("expected")
        events = ruled[call_id] if expected is None else _stated(expected)
        seen = [events, *(line[call_id] for line in moved)]
        if expected is not None and not expected.get("fragile_limits", True):
            seen = [events]
        sides = raw.get("channels", ["caller", "agent"])
        truths.append(
            Truth(
                call_id=call_id,
                condition=raw["condition"]["name"],
                audio=audio,
                caller_channel=sides.index("caller"),
                agent_channel=sides.index("agent"),
                sound=sound,
                core_ends=_core_ends(raw),
                events=events,
                hanging_talk_overs=_unsettled([{t.at_ms for t in s.talk_overs} for s in seen]),
                hanging_slow=_unsettled(
                    [{r.end_ms for r in s.replies if r.is_slow_or_none(slow_ms)} for s in seen]
                ),
            )
        )
    return tuple(truths)
