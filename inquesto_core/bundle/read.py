"""What a bundle folder says, and which of its parts cannot be used.

`call.json` must be there and valid, or there is no call. Every other part may be absent; one that
is there and unreadable is left out and named in the bundle's problems. Audio files are looked at
from outside only: inside the folder, no link, the digest that was promised, and each side on
exactly one channel. Files that the contract does not name are ignored.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

from inquesto_core import schema
from inquesto_core.bundle.call import (
    Agent,
    Answer,
    AudioFile,
    Bundle,
    Call,
    ChannelOffsets,
    Ended,
    Exclusion,
    FinalState,
    IgnoredIntervals,
    Inferred,
    Interval,
    MeasuredSegment,
    MeasuredTiming,
    RecordedVerdicts,
    ReportedTiming,
    ReportedTurn,
    ToolTrace,
)
from inquesto_core.bundle.fenced import without_fence
from inquesto_core.bundle.files import hash_file, leaves_bundle, open_inside, read_whole
from inquesto_core.bundle.trace import build_trace
from inquesto_core.bundle.transcript import build_transcript
from inquesto_core.canonical import digest_bytes, strict_json
from inquesto_core.errors import BundleError, InquestoError, Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from inquesto_core.bundle.find import BundleRef

__all__ = ["read_bundle"]

Part = TypeVar("Part")

#: The part that a language model may have written, fence and all.
_WRITTEN_BY_MODELS = "verdicts"
#: How an import notes what the user said of all its calls.
_SAID_BY_HAND = "said on the command line"


def read_bundle(ref: BundleRef) -> Bundle:
    """Return the call in a bundle folder, with everything that is wrong with its parts.

    Parameters
    ----------
    ref : BundleRef
        The folder, and the label by which errors name it until its call id is known.

    Returns
    -------
    Bundle
        Error-level problems have the codes ``trace_unparseable``, ``transcript_unparseable``,
        ``state_unparseable``, ``timing_unparseable``, ``measured_unparseable``,
        ``verdicts_unparseable`` (that part is None),
        ``audio_missing``, ``audio_digest_mismatch``, ``link_refused``, ``unknown_channel_map``,
        ``mono_input``.

    Raises
    ------
    BundleError
        Code ``call_json_missing``: no readable `call.json`; ``path_outside_bundle``: it names audio
        outside the folder.
    SchemaError
        `call.json` is not what its schema says.
    """
    digests: dict[str, str] = {}
    call = _read_call(ref, digests)
    problems: list[Problem] = []

    def part(name: str, build: Callable[[Any], tuple[Part, list[Problem]]]) -> Part | None:
        return _read_part(ref.path, name, build, digests, problems)

    trace: ToolTrace | None = part(
        "trace", lambda value: build_trace(value, offset_ms=call.trace_offset_ms)
    )
    transcript = part("transcript", build_transcript)
    state = part("state", _build_state)
    verdicts = part("verdicts", _build_verdicts)
    timing = part("timing", _build_timing)
    measured = part("measured", _build_measured)
    if call.audio or (timing is None and measured is None):
        problems += _check_channel_map(call.audio)
    problems += _check_audio(ref.path, call.audio, digests)
    if transcript is None:
        problems += _unchecked_order(call)
    return Bundle(
        call=call,
        root=ref.path,
        trace=trace,
        transcript=transcript,
        state=state,
        timing=timing,
        measured=measured,
        verdicts=verdicts,
        digests=tuple(sorted(digests.items())),
        problems=tuple(problem.at(call_id=call.call_id) for problem in problems),
    )


def _read_call(ref: BundleRef, digests: dict[str, str]) -> Call:
    name = "call.json"
    value: Any = None
    try:
        with open_inside(ref.path, name) as source:
            data = read_whole(source, name)
        digests[name] = digest_bytes(data)
        value = strict_json(data, file=name)
        schema.validate(value, "call", file=name)
        return _build_call(value)
    except BundleError as exc:
        problem = replace(_no_call(exc.problem.found), call_id=ref.label)
        raise BundleError(problem) from exc
    except SchemaError as exc:
        outside = _audio_outside(exc.problem, value)
        if outside is not None:
            raise BundleError(outside.at(call_id=ref.label)) from exc
        raise SchemaError(exc.problem.at(call_id=ref.label)) from exc


def _read_part(
    root: Path,
    name: str,
    build: Callable[[Any], tuple[Part, list[Problem]]],
    digests: dict[str, str],
    problems: list[Problem],
) -> Part | None:
    file = f"{name}.json"
    if not os.path.lexists(root / file):
        return None
    try:
        with open_inside(root, file) as source:
            data = read_whole(source, file)
        digests[file] = digest_bytes(data)
        if name == _WRITTEN_BY_MODELS:
            data = without_fence(data)
        part, warnings = build(schema.load(data, name, file=file))
    except InquestoError as exc:
        problems.append(replace(exc.problem, code=f"{name}_unparseable", file=file))
        return None
    problems += warnings
    return part


def _build_call(value: Mapping[str, Any]) -> Call:
    agent, ended = value["agent"], value.get("ended", {})
    offsets, ignored = value.get("channel_offset_ms", {}), value.get("ignore_ms", {})
    window, exclusion = value.get("scored_window_ms"), value.get("exclusion")
    for name in ("started_at", "ended_at"):
        _check_date(value.get(name), f"/{name}")
    trial = value.get("trial")
    return Call(
        schema_version=value["schema_version"],
        call_id=value["call_id"],
        population=value.get("population"),
        scenario_id=value.get("scenario_id"),
        condition=value.get("condition"),
        group=value.get("group"),
        trial=None if trial is None else int(trial),
        agent=Agent(
            name=agent["name"],
            fingerprint=agent.get("fingerprint"),
            config=agent.get("config", {}),
        ),
        platform=value.get("platform"),
        direction=value.get("direction"),
        started_at=value.get("started_at"),
        ended_at=value.get("ended_at"),
        ended=Ended(by=ended.get("by", "unknown"), reason=ended.get("reason")),
        audio=tuple(_audio_file(entry) for entry in value["audio"]),
        channel_offset_ms=ChannelOffsets(
            caller=int(offsets.get("caller", 0)), agent=int(offsets.get("agent", 0))
        ),
        trace_offset_ms=int(value.get("trace_offset_ms", 0)),
        scored_window_ms=None if window is None else _interval(window, "/scored_window_ms"),
        ignore_ms=IgnoredIntervals(
            caller=_intervals(ignored.get("caller", ()), "/ignore_ms/caller"),
            agent=_intervals(ignored.get("agent", ()), "/ignore_ms/agent"),
        ),
        exclusion=None
        if exclusion is None
        else Exclusion(reason=exclusion["reason"], detail=exclusion.get("detail")),
        timing_reasons=tuple(value.get("timing_reasons", ())),
        inferred=tuple(Inferred(**entry) for entry in value.get("inferred", ())),
        tags=value.get("tags", {}),
    )


def _audio_file(entry: Mapping[str, Any]) -> AudioFile:
    channels = entry.get("channels") or {}
    caller, agent = channels.get("caller"), channels.get("agent")
    duration_ms, rate_hz = entry.get("duration_ms"), entry.get("sample_rate_hz")
    return AudioFile(
        file=entry["file"],
        sha256=entry.get("sha256"),
        caller=None if caller is None else int(caller),
        agent=None if agent is None else int(agent),
        start_ms=int(entry.get("start_ms", 0)),
        duration_ms=None if duration_ms is None else int(duration_ms),
        sample_rate_hz=None if rate_hz is None else int(rate_hz),
    )


def _intervals(pairs: Iterable[Iterable[int]], pointer: str) -> tuple[Interval, ...]:
    return tuple(_interval(pair, f"{pointer}/{at}") for at, pair in enumerate(pairs))


def _interval(pair: Iterable[int], pointer: str) -> Interval:
    start_ms, end_ms = (int(at_ms) for at_ms in pair)
    if start_ms >= end_ms:
        raise SchemaError(
            Problem(
                code="schema",
                found=f"is [{start_ms}, {end_ms}]",
                expected="[from, to) with from before to",
                file="call.json",
                pointer=pointer,
            )
        )
    return start_ms, end_ms


def _check_date(moment: str | None, pointer: str) -> None:
    if moment is None:
        return
    try:
        date.fromisoformat(moment[:10])
    except ValueError as exc:
        raise SchemaError(
            Problem(
                code="schema",
                found=f'is "{moment}"',
                expected="a date of the calendar",
                file="call.json",
                pointer=pointer,
            )
        ) from exc


def _build_state(value: Mapping[str, Any]) -> tuple[FinalState, list[Problem]]:
    user = value.get("user") or {}
    state = FinalState(
        before=value["before"],
        after=value["after"],
        expected=value.get("expected"),
        after_sha256=value.get("after_sha256"),
        expected_sha256=value.get("expected_sha256"),
        user_after=user.get("after"),
        user_after_sha256=user.get("after_sha256"),
    )
    return state, []


def _build_verdicts(value: Mapping[str, Any]) -> tuple[RecordedVerdicts, list[Problem]]:
    answers = tuple(
        Answer(
            question=question,
            verdict=answer["verdict"],
            reason=answer.get("reason"),
            turn=None if answer.get("turn") is None else int(answer["turn"]),
            score=None if answer.get("score") is None else float(answer["score"]),
        )
        for question, answer in sorted(value["answers"].items())
    )
    recorded = RecordedVerdicts(
        model=value["model"],
        model_sha256=value.get("model_sha256"),
        rubric_sha256=value.get("rubric_sha256"),
        answers=answers,
    )
    return recorded, []


def _build_timing(value: Mapping[str, Any]) -> tuple[ReportedTiming, list[Problem]]:
    turns = tuple(
        ReportedTurn(
            speaker=row["speaker"],
            start_ms=int(row["start_ms"]),
            end_ms=int(row["end_ms"]),
            silent=row.get("silent", False),
        )
        for row in value["turns"]
    )
    latencies_ms = tuple(int(latency_ms) for latency_ms in value.get("latencies_ms", ()))
    return ReportedTiming(source=value["source"], turns=turns, latencies_ms=latencies_ms), []


def _build_measured(value: Mapping[str, Any]) -> tuple[MeasuredTiming, list[Problem]]:
    window, duration_ms = value.get("window_ms"), value.get("duration_ms")
    low, high = (0, 0) if window is None else (int(window[0]), int(window[1]))
    if (window is None) != (duration_ms is None) or not low <= high <= (duration_ms or 0):
        raise _bad_measured("/window_ms", f"is {window}", "[from, to) within duration_ms")
    for at, row in enumerate(value["segments"]):
        if row["start_ms"] >= row["end_ms"]:
            found = f"is [{row['start_ms']}, {row['end_ms']}]"
            raise _bad_measured(f"/segments/{at}", found, "start_ms before end_ms")
    measured = MeasuredTiming(
        measurement=value["measurement"],
        engine=value["engine"],
        duration_ms=None if duration_ms is None else int(duration_ms),
        window_ms=None if window is None else (low, high),
        condition_class=value["condition_class"],
        timing_reasons=tuple(value.get("timing_reasons", ())),
        segments=tuple(
            MeasuredSegment(
                speaker=row["speaker"],
                start_ms=int(row["start_ms"]),
                end_ms=int(row["end_ms"]),
                rejected=row.get("rejected"),
            )
            for row in value["segments"]
        ),
    )
    return measured, []


def _bad_measured(pointer: str, found: str, expected: str) -> SchemaError:
    return SchemaError(
        Problem(
            code="schema", file="measured.json", pointer=pointer, found=found, expected=expected
        )
    )


def _unchecked_order(call: Call) -> list[Problem]:
    """Return a warning where a person told the sides and no words can contradict it."""
    is_told = any(
        each.field.endswith("/channels/caller") and each.how.startswith(_SAID_BY_HAND)
        for each in call.inferred
    )
    if not is_told or call.exclusion is not None:
        return []
    return [
        Problem(
            code="channel_order_unchecked",
            found="has the channel order as told by --caller-channel, not checked: no transcript",
            expected="a transcript, against which the sides are held",
            remedy="listen to one call: exchanged sides make every wait another's",
            file="call.json",
            pointer="/inferred",
            level="warning",
        )
    ]


def _check_channel_map(audio: tuple[AudioFile, ...]) -> list[Problem]:
    """Return what is wrong with who is where: each side on exactly one channel, not on the same."""
    if not audio:
        return [
            Problem(
                code="no_audio",
                found="names no recording",
                expected="audio, unless timing was reported by the platform",
                file="call.json",
                pointer="/audio",
                level="warning",
            )
        ]
    places = {
        side: [
            (entry.file, channel)
            for entry in audio
            for channel in (getattr(entry, side),)
            if channel is not None
        ]
        for side in ("caller", "agent")
    }
    problems = [
        Problem(
            code="unknown_channel_map",
            found=f"maps the {side} to {len(found)} channels",
            expected="each side on exactly one channel of one file",
            remedy='state "channels": {"caller": 0, "agent": 1} as the recorder wrote them',
            file="call.json",
            pointer="/audio",
        )
        for side, found in places.items()
        if len(found) != 1
    ]
    if not problems and places["caller"] == places["agent"]:
        problems.append(
            Problem(
                code="mono_input",
                found="has both sides on one channel of one file",
                expected="each side on a channel of its own",
                file="call.json",
                pointer="/audio",
            )
        )
    return problems


def _check_audio(
    root: Path, audio: tuple[AudioFile, ...], digests: dict[str, str]
) -> list[Problem]:
    problems = []
    for at, entry in enumerate(audio):
        try:
            if entry.file not in digests:
                digests[entry.file] = hash_file(root, entry.file)
        except BundleError as exc:
            missing = exc.problem.code == "file_missing"
            problems.append(replace(exc.problem, code="audio_missing") if missing else exc.problem)
            continue
        if entry.sha256 not in {None, digests[entry.file]}:
            problems.append(
                Problem(
                    code="audio_digest_mismatch",
                    found=f"has the SHA-256 {digests[entry.file]}",
                    expected=f"{entry.sha256} (call.json /audio/{at}/sha256)",
                    remedy="restore the file that was recorded, or correct the digest",
                    file=entry.file,
                )
            )
    return problems


def _audio_outside(problem: Problem, value: Any) -> Problem | None:
    place = re.fullmatch(r"/audio/(\d+)/file", problem.pointer or "")
    if place is None:
        return None
    name = value["audio"][int(place[1])]["file"]
    if not isinstance(name, str) or not leaves_bundle(name):
        return None
    return replace(problem, code="path_outside_bundle")


def _no_call(found: str) -> Problem:
    return Problem(
        code="call_json_missing",
        found=found,
        expected="a call.json that can be read",
        file="call.json",
    )
