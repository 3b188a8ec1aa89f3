"""One call's evidence: what its files say and what its sound shows, as rows of the tables.

This is the only place where reading, decoding and the VAD meet. Everything above reads rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.bundle import trace_times_outside
from inquesto_core.bundle.excluded import as_excluded
from inquesto_core.canonical import canonical_bytes
from inquesto_core.errors import Problem
from inquesto_core.evidence.rows import bundle_rows
from inquesto_core.evidence.tables import TIMING_CARRIED
from inquesto_core.instruments.audio import Recording, decode_call
from inquesto_core.instruments.hearing import hear
from inquesto_core.instruments.media_limits import MediaLimits
from inquesto_core.instruments.recording_checks import check_recording
from inquesto_core.instruments.transcript_support import supported_turns
from inquesto_core.instruments.vad_level import LOW_LEVEL
from inquesto_core.protocol import measurement_digest
from inquesto_core.protocol.foreground_network import load_network

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.bundle import Bundle
    from inquesto_core.bundle.call import MeasuredTiming
    from inquesto_core.instruments.audio import ChannelAudio, Side
    from inquesto_core.instruments.hearing import Heard
    from inquesto_core.instruments.recording_faults import RecordingFault
    from inquesto_core.instruments.speech import SpeechSegments
    from inquesto_core.instruments.vad import SileroVad
    from inquesto_core.protocol import Protocol

__all__ = ["measure_call", "media_limits", "problem_row", "unmeasured_call"]

Row = dict[str, Any]
_SIDES: tuple[Side, Side] = ("caller", "agent")
#: Problems of reading that leave no sound to listen to, and no call to score.
_UNREADABLE = frozenset({"audio_missing", "audio_digest_mismatch", "link_refused"})
_IGNORED = "ignored"
_CHANNEL_SILENT = "channel_silent"
_NO_AUDIO = "no_audio"
#: The transcript's clock is not the recording's.
_SHIFTED = "transcript_shifted"
#: It was measured by other rules than this protocol's.
_EVIDENCE_MISSING = "evidence_missing"
#: Classes of timing uncertainty: a party in front of a near background, and any other.
_NEAR, _CLEAR = "background", "default"
#: Party and background cannot be told apart.
_INDISTINCT = "background_indistinct"


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


def _without(
    start: int, end: int, holes: Iterable[tuple[int, int]], least_ms: int
) -> list[tuple[int, int, bool]]:
    """Cut an interval at `holes`: pieces with whether they lie in one.

    A hole's edge is set by hand: what is left of a cut interval and shorter than `least_ms` goes
    with the hole.
    """
    pieces: list[tuple[int, int, bool]] = []
    for hole_start, hole_end in sorted(holes):
        low, high = max(hole_start, start), min(hole_end, end)
        if low >= high:
            continue
        low = start if low - start < least_ms else low
        high = end if end - high < least_ms else high
        if start < low:
            pieces.append((start, low, False))
        pieces.append((low, high, True))
        start = high
    if start < end:
        pieces.append((start, end, False))
    return pieces


def _segment_rows(
    call_id: str, side: str, speech: SpeechSegments, ignore: Any, least_ms: int
) -> list[Row]:
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
        for start, end, ignored in _without(low, high, ignore, least_ms)
    ]


def _media_row(call_id: str, side: str, sound: ChannelAudio, heard: Heard) -> Row:
    speech, leak, front = heard.speech, heard.leak, heard.foreground
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
        "leak_delay_ms": None if leak is None else leak.delay_ms,
        "leak_db": None if leak is None else leak.gain_db,
        "leak_removed_db": None if leak is None else leak.removed_db,
        "background_near": front is not None,
        "snr_db": None if front is None else front.snr_db,
        "separation": None if front is None else front.separation,
        "doubt": None if front is None else front.doubt,
    }


def _listen(recording: Recording, protocol: Protocol, vad: SileroVad) -> dict[str, Heard]:
    """Return both sides as heard, none where there is nothing to hear."""
    if recording.caller is None or recording.agent is None:
        return {}
    return hear(
        recording.caller.samples,
        recording.agent.samples,
        protocol=protocol,
        vad=vad,
        network=load_network(protocol.file(protocol.instruments.foreground.network)),
    )


def _sound_rows(
    bundle: Bundle, recording: Recording, heard: dict[str, Heard], protocol: Protocol
) -> dict[str, list[Row]]:
    """Return the rows of tables ``segments`` and ``media``."""
    rows: dict[str, list[Row]] = {"segments": [], "media": []}
    call_id = bundle.call.call_id
    for side, sound in heard.items():
        ignore = getattr(bundle.call.ignore_ms, side)
        least_ms = protocol.timeline.ipu_gap_ms
        rows["segments"] += _segment_rows(call_id, side, sound.speech, ignore, least_ms)
        rows["media"].append(_media_row(call_id, side, getattr(recording, side), sound))
    return rows


def _accepted(segments: list[Row]) -> dict[Side, Any]:
    """Return each side's speech, int64 arrays of shape (n, 2), ms."""
    return {
        side: np.array(
            [
                (row["start_ms"], row["end_ms"])
                for row in segments
                if row["channel"] == side and row["rejected"] is None
            ],
            dtype=np.int64,
        ).reshape(-1, 2)
        for side in _SIDES
    }


def _timing_reasons(
    bundle: Bundle,
    recording: Recording,
    heard: dict[str, Heard],
    faults: Iterable[RecordingFault],
) -> list[str]:
    """Return why timing is not evaluated.

    A silent agent channel is a fault of the recording only where trace or transcript shows that the
    agent acted; otherwise the agent was silent, which is its own fault (section 6).
    """
    reasons = {
        *bundle.call.timing_reasons,
        *recording.timing_reasons,
        *(f.code for f in faults if f.level == "timing"),
    }
    spoke = bundle.transcript is not None and any(
        turn.speaker == "agent" and turn.text.strip() for turn in bundle.transcript.turns
    )
    acted = bundle.trace is not None and bool(bundle.trace.calls)
    if recording.agent_silent and (spoke or acted):
        reasons.add(_CHANNEL_SILENT)
    if any(side.indistinct for side in heard.values()):
        reasons.add(_INDISTINCT)
    if any(side.too_quiet for side in heard.values()):
        reasons.add(LOW_LEVEL)
    if _is_reported(bundle):
        reasons.discard(_NO_AUDIO)
    return sorted(reasons)


def _is_reported(bundle: Bundle) -> bool:
    """Return whether timing is what a runtime reported: there is no recording to measure."""
    return bundle.timing is not None and not bundle.call.audio


def _window(bundle: Bundle, duration_ms: int) -> tuple[int, int]:
    window = bundle.call.scored_window_ms
    if window is None:
        return 0, duration_ms
    low = min(max(window[0], 0), duration_ms)
    return low, max(low, min(window[1], duration_ms))


def _condition_class(heard: dict[str, Heard], protocol: Protocol) -> str:
    """Return which timing uncertainty a call has, by what was heard and not by what was said."""
    near = any(side.foreground is not None for side in heard.values())
    return _NEAR if near and _NEAR in protocol.timing_uncertainty_ms else _CLEAR


def _call_row(
    bundle: Bundle,
    recording: Recording,
    heard: dict[str, Heard],
    timing_reasons: list[str],
    protocol: Protocol,
) -> Row:
    call = bundle.call
    low, high = _window(bundle, recording.duration_ms)
    exclusion = call.exclusion.reason if call.exclusion else recording.exclusion_reason
    if exclusion is None and any(p.code in _UNREADABLE for p in bundle.problems):
        exclusion = "unreadable_recording"
    timed = recording.caller is not None and recording.agent is not None
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
        "timing_source": "measured" if timed else "reported" if _is_reported(bundle) else None,
        "timing_reasons": timing_reasons,
        "condition_class": _condition_class(heard, protocol),
        "duration_ms": recording.duration_ms if timed else None,
        "window_from_ms": low if timed else None,
        "window_to_ms": high if timed else None,
        "has_trace": bundle.trace is not None,
        "has_caller_calls": bundle.trace is not None and bundle.trace.caller_calls is not None,
        "has_transcript": bundle.transcript is not None,
        "has_verdicts": bundle.verdicts is not None,
        "warnings": [],
    }


def _withhold(
    bundle: Bundle,
    turns: list[Row],
    heard: dict[str, Heard],
    segments: list[Row],
    protocol: Protocol,
) -> list[Problem]:
    """Mark the transcript's turns by whether their side speaks there, and say how many do not.

    What was heard of such a turn is nothing. A side in front of a near background is left alone.
    """
    if bundle.transcript is None:
        return []
    speech = {
        side: intervals
        for side, intervals in _accepted(segments).items()
        if side in heard and heard[side].foreground is None
    }
    supported = supported_turns(bundle.transcript, speech, protocol.recording_faults)
    for row, is_supported in zip(turns, supported, strict=True):
        row["supported"] = is_supported
        if is_supported is False:
            row["heard_text"], row["n_words"] = "", 0
    lost = [at for at, is_supported in enumerate(supported) if is_supported is False]
    if not lost:
        return []
    return [
        Problem(
            code="transcript_unsupported",
            file="transcript.json",
            pointer=f"/turns/{lost[0]}",
            found=f"has {len(lost)} of {len(turns)} turns where their side does not speak",
            expected="turns where their side is heard",
            remedy="their words are withheld from the judge and not counted",
            level="warning",
        )
    ]


def measure_call(bundle: Bundle, *, protocol: Protocol, vad: SileroVad) -> dict[str, list[Row]]:
    """Return the rows of every evidence table that one call fills.

    Raises
    ------
    InstrumentError
        Where the instrument itself fails; a recording that cannot be read is a row and a problem.
    """
    if bundle.measured is not None and not bundle.call.audio:
        return _carried(bundle, bundle.measured, protocol)
    recording = decode_call(bundle, limits=media_limits(protocol))
    problems = as_excluded((*bundle.problems, *recording.problems), bundle.call)
    if recording.caller is not None and bundle.trace is not None:
        problems += trace_times_outside(bundle.trace, recording.duration_ms)
    heard = _listen(recording, protocol, vad)
    sound = _sound_rows(bundle, recording, heard, protocol)
    faults = check_recording(bundle, recording, _accepted(sound["segments"]), protocol=protocol)
    problems += [fault.problem for fault in faults]
    reasons = _timing_reasons(bundle, recording, heard, faults)
    own = bundle_rows(bundle)
    if not reasons and not any(fault.code == _SHIFTED for fault in faults):
        problems += _withhold(bundle, own["transcript"], heard, sound["segments"], protocol)
    row = _call_row(bundle, recording, heard, reasons, protocol)
    row["warnings"] = sorted({p.code for p in problems if p.level == "warning"})
    return {
        **own,
        **sound,
        "calls": [row],
        "problems": [problem_row(problem, bundle.call.call_id) for problem in problems],
    }


def _carried(bundle: Bundle, measured: MeasuredTiming, protocol: Protocol) -> dict[str, list[Row]]:
    """Return the rows of a call whose recording was measured elsewhere, and left out since."""
    call_id = bundle.call.call_id
    is_ours = measured.measurement == measurement_digest(protocol)
    reasons = sorted({*measured.timing_reasons, *(() if is_ours else (_EVIDENCE_MISSING,))})
    problem = Problem(
        code=TIMING_CARRIED,
        file="measured.json",
        found="brings timing that was measured of a recording which is not here",
        expected="a recording, which alone could show it",
        level="warning",
    )
    problems = [*bundle.problems, problem]
    low, high = measured.window_ms or (None, None)
    is_timed = is_ours and measured.duration_ms is not None
    row = _call_row(bundle, Recording(), {}, reasons, protocol) | {
        "timing_source": "measured" if is_timed else None,
        "condition_class": measured.condition_class if is_ours else _CLEAR,
        "duration_ms": measured.duration_ms if is_timed else None,
        "window_from_ms": low if is_timed else None,
        "window_to_ms": high if is_timed else None,
        "warnings": sorted({p.code for p in problems if p.level == "warning"}),
    }
    segments: list[Row] = [
        {
            "call_id": call_id,
            "channel": each.speaker,
            "start_ms": each.start_ms,
            "end_ms": each.end_ms,
            "rejected": each.rejected,
            "source": "measured",
        }
        for each in measured.segments
        if is_timed
    ]
    return {
        **bundle_rows(bundle),
        "calls": [row],
        "segments": segments,
        "problems": [problem_row(told, call_id) for told in problems],
    }


def unmeasured_call(
    bundle: Bundle, *, reason: str, problem: Problem, protocol: Protocol
) -> dict[str, list[Row]]:
    """Return the rows of a call whose sound could not be measured, whatever the reason."""
    problems = [*bundle.problems, problem]
    row = _call_row(bundle, Recording(), {}, [reason], protocol)
    row["warnings"] = sorted({p.code for p in problems if p.level == "warning"})
    return {
        **bundle_rows(bundle),
        "calls": [row],
        "problems": [problem_row(told, bundle.call.call_id) for told in problems],
    }
