"""What a bundle's own files say, as rows of the evidence tables.

Nothing is measured here. A word is a token between white space that holds at least one letter or
digit, so that dashes and lone punctuation are none; text in a script that is written without spaces
therefore counts as few words, and `verbose` cannot be read from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.bundle.call import STAGES
from inquesto_core.canonical import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.bundle.call import Bundle, ToolCall

__all__ = ["ASR", "PLATFORM", "bundle_rows", "count_words", "tool_call_rows"]

#: Whose words a row of ``transcript`` or ``words`` holds.
PLATFORM, ASR = "platform", "asr"

Row = dict[str, object]


def count_words(text: str) -> int:
    """Return the number of white-space separated tokens with a letter or digit in them.

    >>> count_words("It's $49 — okay ?")
    3
    """
    return sum(any(character.isalnum() for character in token) for token in text.split())


def bundle_rows(bundle: Bundle) -> dict[str, list[Row]]:
    """Return the rows of the tables that a bundle fills itself.

    Returns
    -------
    dict
        ``tool_calls``, ``caller_calls``, ``transcript``, ``reported_turns``,
        ``reported_latencies``, ``reported_stages``, ``words``, ``verdicts``, ``states``, each a
        list of rows with every column of that table; empty where the bundle has no such part. JSON
        values are canonical JSON text, and None where they are absent or null.
    """
    return {
        "tool_calls": _tool_calls(bundle),
        "caller_calls": _caller_calls(bundle),
        "transcript": _transcript(bundle),
        "reported_turns": _reported_turns(bundle),
        "reported_latencies": _reported_latencies(bundle),
        "reported_stages": _reported_stages(bundle),
        "words": _words(bundle),
        "verdicts": _verdicts(bundle),
        "states": _states(bundle),
    }


def _tool_calls(bundle: Bundle) -> list[Row]:
    if bundle.trace is None:
        return []
    return tool_call_rows(bundle.call.call_id, bundle.trace.calls)


def _caller_calls(bundle: Bundle) -> list[Row]:
    if bundle.trace is None:
        return []
    return tool_call_rows(bundle.call.call_id, bundle.trace.caller_calls or ())


def tool_call_rows(call_id: str, calls: Iterable[ToolCall]) -> list[Row]:
    """Return tool calls of one call as rows of ``tool_calls``."""
    return [
        {
            "call_id": call_id,
            "position": call.position,
            "id": call.id,
            "name": call.name,
            "status": call.status,
            "start_ms": call.start_ms,
            "end_ms": call.end_ms,
            "arguments": _json(call.arguments),
            "raw_arguments": call.raw_arguments,
            "result": _json(call.result),
        }
        for call in calls
    ]


def _transcript(bundle: Bundle) -> list[Row]:
    if bundle.transcript is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "position": position,
            "speaker": turn.speaker,
            "start_ms": turn.start_ms,
            "end_ms": turn.end_ms,
            "text": turn.text,
            "heard_text": turn.heard_text,
            "n_words": count_words(turn.text if turn.heard_text is None else turn.heard_text),
            "supported": None,
            "source": PLATFORM,
            "origin": bundle.transcript.source,
        }
        for position, turn in enumerate(bundle.transcript.turns)
    ]


def _reported_turns(bundle: Bundle) -> list[Row]:
    """Return the reported turns of a call without a recording; beside one they are not read."""
    if bundle.timing is None or bundle.call.audio:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "position": position,
            "speaker": turn.speaker,
            "start_ms": turn.start_ms,
            "end_ms": turn.end_ms,
            "silent": turn.silent,
            "origin": bundle.timing.source,
        }
        for position, turn in enumerate(bundle.timing.turns)
    ]


def _reported_latencies(bundle: Bundle) -> list[Row]:
    if bundle.timing is None or bundle.call.audio:
        return []
    return [
        {"call_id": bundle.call.call_id, "position": position, "latency_ms": latency_ms}
        for position, latency_ms in enumerate(bundle.timing.latencies_ms)
    ]


def _reported_stages(bundle: Bundle) -> list[Row]:
    """Return what the platform says of the stages of its answers; beside a recording, too."""
    stages = None if bundle.trace is None else bundle.trace.stages
    if stages is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "stage": stage,
            "position": position,
            "value_ms": value_ms,
            "origin": stages.source,
        }
        for stage in STAGES
        for position, value_ms in enumerate(stages.of(stage))
        if value_ms is not None
    ]


def _words(bundle: Bundle) -> list[Row]:
    if bundle.transcript is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "turn": turn_position,
            "position": position,
            "speaker": turn.speaker,
            "word": word.word,
            "start_ms": word.start_ms,
            "end_ms": word.end_ms,
            "source": PLATFORM,
        }
        for turn_position, turn in enumerate(bundle.transcript.turns)
        for position, word in enumerate(turn.words)
    ]


def _verdicts(bundle: Bundle) -> list[Row]:
    recorded = bundle.verdicts
    if recorded is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "question": answer.question,
            "verdict": answer.verdict,
            "turn": answer.turn,
            "reason": answer.reason,
            "model": recorded.model,
            "model_sha256": recorded.model_sha256,
            "rubric_sha256": recorded.rubric_sha256,
            "source": "recorded",
            "undetermined": None,
            "p_true": None,
            "p_false": None,
            "raw": None,
            "answer_key": None,
        }
        for answer in recorded.answers
    ]


def _states(bundle: Bundle) -> list[Row]:
    if bundle.state is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "before": _json(bundle.state.before),
            "after": _json(bundle.state.after),
            "expected": _json(bundle.state.expected),
        }
    ]


def _json(value: Any) -> str | None:
    return None if value is None else canonical_bytes(value).decode("utf-8")
