"""One call's evidence: what its files say and what its sound shows, as rows of the tables.

This is the only place where reading, decoding and the VAD meet. Everything above reads rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import trace_times_outside
from inquesto_core.canonical import canonical_bytes
from inquesto_core.evidence.rows import bundle_rows
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.level import level_db
from inquesto_core.instruments.media_limits import MediaLimits
from inquesto_core.instruments.speech import SpeechParameters, SpeechSegments, find_speech

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.bundle import Bundle
    from inquesto_core.errors import Problem
    from inquesto_core.instruments.audio import ChannelAudio, Recording
    from inquesto_core.instruments.vad import SileroVad
    from inquesto_core.protocol import Protocol

__all__ = ["measure_call", "media_limits", "problem_row"]

Row = dict[str, Any]
_SIDES = ("caller", "agent")
#: Problems of reading that leave no sound to listen to, and no call to score.
_UNREADABLE = frozenset({"audio_missing", "audio_digest_mismatch", "link_refused"})
_IGNORED = "ignored"
_CHANNEL_SILENT = "channel_silent"


def problem_row(problem: Problem, call_id: str) -> Row:
    """Return a problem as a row of table ``problems``."""
    told = problem.at(call_id=call_id)
    return {
        "call_id": told.call_id,
        "level": told.level,
        "code": told.code,
        "file": told.file,
        "pointer": told.pointer,
        "message": str(told),
    }


def media_limits(protocol: Protocol) -> MediaLimits:
    """Return the protocol's limits of what is decoded and checked."""
    return MediaLimits(
        max_duration_ms=protocol.media.max_duration_ms,
        **protocol.media.parameters,  # type: ignore[arg-type]
    )


def _without(start: int, end: int, holes: Iterable[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    """Cut an interval at `holes`: pieces with whether they lie in one."""
    pieces: list[tuple[int, int, bool]] = []
    for hole_start, hole_end in sorted(holes):
        low, high = max(hole_start, start), min(hole_end, end)
        if low >= high:
            continue
        if start < low:
            pieces.append((start, low, False))
        pieces.append((low, high, True))
        start = high
    if start < end:
        pieces.append((start, end, False))
    return pieces


def _segment_rows(call_id: str, side: str, speech: SpeechSegments, ignore: Any) -> list[Row]:
    return [
        {
            "call_id": call_id,
            "channel": side,
            "start_ms": start,
            "end_ms": end,
            "rejected": _IGNORED if ignored else rejected,
            "source": "measured",
        }
        for (low, high), rejected in zip(speech.intervals.tolist(), speech.rejected, strict=True)
        for start, end, ignored in _without(low, high, ignore)
    ]


def _media_row(call_id: str, side: str, sound: ChannelAudio, speech: SpeechSegments) -> Row:
    return {
        "call_id": call_id,
        "channel": side,
        "file": sound.file,
        "sha256": sound.sha256,
        "format": sound.format,
        "codec": sound.codec,
        "sample_rate_hz": sound.sample_rate_hz,
        "channel_index": sound.channel_index,
        "frames": sound.frames,
        "duration_ms": sound.duration_ms,
        "missing_ms": sound.missing_ms,
        "dc_offset": sound.dc_offset,
        "peak_dbfs": sound.peak_dbfs,
        "active_dbfs": speech.active_dbfs,
        "floor_dbfs": speech.floor_dbfs,
        "clipped_fraction": sound.clipped_fraction,
    }


def _listen(
    bundle: Bundle, recording: Recording, protocol: Protocol, vad: SileroVad
) -> dict[str, Any]:
    """Return the rows of tables ``segments`` and ``media``."""
    parameters = SpeechParameters.of(protocol.instruments.vad.parameters)
    rows: dict[str, list[Row]] = {"segments": [], "media": []}
    for side in _SIDES:
        sound: ChannelAudio | None = getattr(recording, side)
        if sound is None:
            continue
        level = level_db(
            sound.samples,
            window_ms=parameters.level_window_ms,
            highpass_hz=parameters.highpass_hz,
        )
        speech = find_speech(
            level,
            vad.probabilities(sound.samples),
            frame_ms=protocol.instruments.vad.frame_ms,
            join_ms=protocol.timeline.ipu_gap_ms,
            parameters=parameters,
        )
        call_id = bundle.call.call_id
        ignore = getattr(bundle.call.ignore_ms, side)
        rows["segments"] += _segment_rows(call_id, side, speech, ignore)
        rows["media"].append(_media_row(call_id, side, sound, speech))
    return rows


def _timing_reasons(bundle: Bundle, recording: Recording) -> list[str]:
    """Return why timing is not evaluated.

    A silent agent channel is a fault of the recording only where trace or transcript shows that the
    agent acted; otherwise the agent was silent, which is its own fault (section 6).
    """
    reasons = set(recording.timing_reasons)
    spoke = bundle.transcript is not None and any(
        turn.speaker == "agent" and turn.text.strip() for turn in bundle.transcript.turns
    )
    acted = bundle.trace is not None and bool(bundle.trace.calls)
    if recording.agent_silent and (spoke or acted):
        reasons.add(_CHANNEL_SILENT)
    return sorted(reasons)


def _window(bundle: Bundle, duration_ms: int) -> tuple[int, int]:
    window = bundle.call.scored_window_ms
    if window is None:
        return 0, duration_ms
    low = min(max(window[0], 0), duration_ms)
    return low, max(low, min(window[1], duration_ms))


def _call_row(bundle: Bundle, recording: Recording, protocol: Protocol) -> Row:
    call = bundle.call
    low, high = _window(bundle, recording.duration_ms)
    exclusion = call.exclusion.reason if call.exclusion else recording.exclusion_reason
    if exclusion is None and any(p.code in _UNREADABLE for p in bundle.problems):
        exclusion = "unreadable_recording"
    timed = recording.caller is not None and recording.agent is not None
    classes = protocol.timing_uncertainty_ms
    return {
        "call_id": call.call_id,
        "population": call.population,
        "scenario_id": call.scenario_id,
        "condition": call.condition,
        "group": call.group,
        "trial": call.trial,
        "agent_name": call.agent.name,
        "agent_fingerprint": call.agent.fingerprint,
        "agent_config": canonical_bytes(dict(call.agent.config)).decode(),
        "platform": call.platform,
        "ended_at": call.ended_at,
        "ended_by": call.ended.by,
        "ended_reason": call.ended.reason,
        "exclusion_reason": exclusion,
        "timing_source": "measured" if timed else None,
        "timing_reasons": _timing_reasons(bundle, recording),
        "condition_class": call.condition if call.condition in classes else "default",
        "duration_ms": recording.duration_ms if timed else None,
        "window_from_ms": low if timed else None,
        "window_to_ms": high if timed else None,
        "has_trace": bundle.trace is not None,
        "has_transcript": bundle.transcript is not None,
        "has_verdicts": bundle.verdicts is not None,
        "warnings": [],
    }


def measure_call(bundle: Bundle, *, protocol: Protocol, vad: SileroVad) -> dict[str, list[Row]]:
    """Return the rows of every evidence table that one call fills.

    Raises
    ------
    InstrumentError
        Where the instrument itself fails; a recording that cannot be read is a row and a problem.
    """
    recording = decode_call(bundle, limits=media_limits(protocol))
    problems = [*bundle.problems, *recording.problems]
    if recording.caller is not None and bundle.trace is not None:
        problems += trace_times_outside(bundle.trace, recording.duration_ms)
    row = _call_row(bundle, recording, protocol)
    row["warnings"] = sorted({p.code for p in problems if p.level == "warning"})
    return {
        **bundle_rows(bundle),
        **_listen(bundle, recording, protocol, vad),
        "calls": [row],
        "problems": [problem_row(problem, bundle.call.call_id) for problem in problems],
    }
