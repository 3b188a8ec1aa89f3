"""Amazon Connect Contact Lens: the analysis of one contact, beside its recording.

The agent is on the right channel, all that comes in (customer and conference parties) on the left;
two parties or more on the left are not the caller alone. Offsets are milliseconds from the start of
the contact's sound. Where words were redacted their sound is silence, which would be taken for
waits: then there is no timing. This file holds no tool calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import TranscriptTurn
from inquesto_core.importers.clock import milliseconds
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of

if TYPE_CHECKING:
    from inquesto_core.bundle.call import Speaker

__all__ = ["IMPORTER"]

_ROLES: dict[str, Speaker] = {"AGENT": "agent", "CUSTOMER": "caller"}


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the contacts in a document."""
    return document.rows() if isinstance(document.value, list) else (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what an analysis says."""
    participants = call.rows("Participants")
    roles = {row.needed_text("ParticipantId"): row for row in participants}
    rows = call.rows("Transcript")
    is_redacted = any(row.rows("Redaction", "RedactedTimestamps") for row in rows)
    others = [
        row for row in participants if row.needed_text("ParticipantRole") not in {"AGENT", "SYSTEM"}
    ]
    reasons = {"audio_redacted": is_redacted, "caller_not_alone": len(others) > 1}
    return Draft(
        call_id=call.label("CustomerMetadata", "ContactId") or call.needed_text("ContactId"),
        platform="contact-lens",
        tracks=(
            Track(
                caller=0,
                agent=1,
                known_by="Amazon Connect has the agent right and all others left",
            ),
        ),
        turns=None if call.get("Transcript") is None else tuple(_turns(rows, roles, options)),
        facts=known_facts({"channel": (call.text("Channel"),)}),
        turn_times=("BeginOffsetMillis and EndOffsetMillis", "milliseconds"),
        timing_reasons=tuple(reason for reason, holds in reasons.items() if holds),
    )


def _turns(
    rows: Sequence[Node], roles: dict[str, Node], options: ImportOptions
) -> list[TranscriptTurn]:
    turns = []
    for row in rows:
        participant = roles.get(row.needed_text("ParticipantId"))
        if participant is None:
            row.refuse(
                f"is spoken by {row.need('ParticipantId').shown()}",
                "a participant that Participants lists",
            )
        speaker = role_of(participant, "ParticipantRole", _ROLES, options)
        if speaker is None:
            continue
        start, end = row.get("BeginOffsetMillis"), row.get("EndOffsetMillis")
        turns.append(
            TranscriptTurn(
                speaker=speaker,
                text=row.text("Content") or "",
                start_ms=None if start is None else milliseconds(start, "ms"),
                end_ms=None if end is None else milliseconds(end, "ms"),
            )
        )
    return turns


IMPORTER = Importer(name="contact-lens", holds="a contact's analysis", calls=calls, draft=draft)
