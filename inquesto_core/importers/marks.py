"""Which platform an export looks like, by keys that its documentation has and others' do not.

Asked only after an export was refused: it is said, and never acted upon.
"""

from __future__ import annotations

from typing import Any

__all__ = ["looks_like"]

#: Platform, and sets of keys of which one must be there whole.
_MARKS: tuple[tuple[str, tuple[frozenset[str], ...]], ...] = (
    ("twilio", (frozenset({"call_sid", "sid"}),)),
    ("elevenlabs", (frozenset({"conversation_id", "transcript"}),)),
    ("livekit", (frozenset({"job_id", "chat_history"}), frozenset({"room_id", "chat_history"}))),
    ("contact-lens", (frozenset({"Participants", "Transcript"}),)),
    ("bland", (frozenset({"call_id", "transcripts"}), frozenset({"call_id", "call_length"}))),
    (
        "retell",
        (
            frozenset({"call_id", "disconnection_reason"}),
            frozenset({"call_id", "start_timestamp"}),
            frozenset({"call_id", "transcript_object"}),
            frozenset({"call_id", "transcript_with_tool_calls"}),
        ),
    ),
    (
        "vapi",
        (
            frozenset({"id", "orgId"}),
            frozenset({"id", "endedReason"}),
            frozenset({"artifact", "endedReason"}),
        ),
    ),
)
#: Where a webhook or a list keeps its calls.
_INSIDE = ("call", "message", "data", "results", "recordings")


def looks_like(value: Any) -> str | None:
    """Return the platform whose marks an export bears, None where none is known.

    >>> looks_like([{"call_id": "r", "start_timestamp": 1}]), looks_like({"id": "x"})
    ('retell', None)
    """
    if isinstance(value, list):
        return looks_like(value[0]) if value and isinstance(value[0], dict) else None
    if not isinstance(value, dict):
        return None
    keys = {key for key, inner in value.items() if inner is not None}
    for platform, marks in _MARKS:
        if any(mark <= keys for mark in marks):
            return platform
    inner = (value[key] for key in _INSIDE if isinstance(value.get(key), dict | list))
    return next((found for each in inner if (found := looks_like(each))), None)
