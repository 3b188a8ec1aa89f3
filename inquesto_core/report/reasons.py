"""What a reason code means: of a call's state, of its timing, and of sound that is not counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REASONS", "REJECTED", "UNDETERMINED", "reason_text"]

#: What a reason code means, the part after its colon left out.
REASONS = {
    "agent_silent": "the agent never made a sound while the caller spoke",
    "audio_damaged": "the recording lacks pages in its middle: what follows may stand too early",
    "audio_missing": "an audio file is missing",
    "audio_redacted": "words were cut out of the recording, and nobody knows where",
    "audio_truncated": "the recording breaks off before its end",
    "background_indistinct": "what sounds behind a party is too like it to be told from it",
    "call_missing": "the archive does not hold the call",
    "caller_deviation": "the caller left the script",
    "caller_not_alone": "others are on the caller's channel",
    "channel_silent": "the agent's channel is silent, yet transcript or trace show that it acted",
    "channels_identical": "both channels carry the same sound",
    "channels_swapped": "the transcript's turns fit only with caller and agent exchanged",
    "channels_unaligned": "it is not known how the two sides' files lie in time",
    "clock_conflict": "the sound and the transcript's times do not run on one clock",
    "crash": "the agent crashed",
    "duplicate_slot": "several calls fill the same slot",
    "duplicate_call_id": "different bundles have its id",
    "duration_mismatch": "the recording is longer or shorter than the call is said to be",
    "evidence_missing": "this protocol measures differently, and the call's bundle was not shown",
    "exclusion_unknown": "it asks to be left out for a reason that the protocol does not have",
    "hangup_mid_call": "the agent hung up in mid-call",
    "lost_session": "the session was lost",
    "low_level": "a channel is too quiet to say when its party speaks",
    "measurement_failed": "its recording could not be measured to the end",
    "mono_recording": "both sides are on one channel",
    "no_audio": "the call names no recording",
    "no_scenario": "the call names no scenario",
    "predicate_undetermined": "a predicate of the scenario cannot be decided",
    "sample_rate_conflict": "the recording has another sample rate than the call says",
    "stall": "the agent stalled",
    "system_ended_agent_turn": "the system ended the call while the agent spoke",
    "timing_missing": "there is no timing",
    "timing_undetermined": "the timing cannot be decided",
    "tool_result_missing": "no result is recorded of a verification, and the result decides",
    "trace_missing": "there is no readable tool trace",
    "transfer_time_unknown": "the call was transferred and it is not known when",
    "undetermined": "what could decide the call is undetermined",
    "unknown_channel_map": "it is not known which channel is the caller's and which the agent's",
    "unknown_condition": "the population does not name its condition",
    "unknown_group": "the population does not name its speaker group",
    "unknown_scenario": "the population does not name its scenario",
    "unknown_trial": "it is not known which trial it is",
    "unreadable_bundle": "its call.json cannot be read",
    "unreadable_recording": "the recording cannot be read",
    "verdict_missing": "the judge's answer is missing",
    "verdict_undetermined": "the judge could not tell",
    "wav_trailing_bytes": "sound may lie behind what the WAV's header promises",
    "wav_truncated": "the WAV breaks off before the end that its header promises",
}

#: Why an answer is neither true nor false.
UNDETERMINED = {
    "judge_unparseable": "what the judge wrote is not exactly one legal answer",
    "no_transcript": "there is no transcript to read, or nothing in it",
    "too_long": "prompt and answer do not fit the context that the protocol pins",
    "undecided": "true and false are equally likely, or no number says how likely",
    "worker_lost": "every worker that asked the judge about the call was lost",
}

#: Why sound on a channel is not its party speaking: a letter that stands for it, and words.
REJECTED = {
    "background": ("b", "behind the party"),
    "dtmf": ("d", "keypad tone"),
    "echo": ("e", "echo of the other side"),
    "ignored": ("i", "ignored, as call.json asks"),
    "music": ("m", "music"),
    "not_speech": ("n", "no speech"),
    "tone": ("t", "call tone"),
}


def reason_text(code: str, undetermined: Mapping[str, str | None] | None = None) -> str:
    """Return a reason in plain words with its code; a code that has none stands alone.

    Parameters
    ----------
    undetermined : mapping, optional
        By question, why its answer is neither true nor false.

    >>> reason_text("crash"), reason_text("new_code")
    ('the agent crashed (crash)', 'new_code')
    """
    kind, _, about = code.partition(":")
    words = REASONS.get(kind)
    if kind == "verdict_undetermined" and undetermined is not None:
        words = UNDETERMINED.get(undetermined.get(about) or "", words)
    return code if words is None else f"{words} ({code})"
