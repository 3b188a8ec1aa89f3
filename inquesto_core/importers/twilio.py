"""Twilio: a recording resource, its file, and a trace and transcript of your own beside it.

Which leg is the first channel depends on who called whom, so the user says it. A conference has its
first participant alone on the first channel and everyone else mixed on the second: where the caller
is not the first, timing is not evaluated. `start_time` and `duration` are whole seconds and move
nothing. `NAME.trace.json` and `NAME.transcript.json`, where NAME is the export's name, the
recording's sid or the call's, are parts of a bundle as docs/bundle.md describes them; `marks` in
the trace, as Media Streams returns them, are no evidence of what was heard and are checked only for
coming back before their sound can have been played.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inquesto_core.bundle import Inferred
from inquesto_core.importers.beside import own_parts
from inquesto_core.importers.clock import instant_ms, milliseconds, second_text, start_note
from inquesto_core.importers.costs import cost_left_out
from inquesto_core.importers.draft import Draft, ImportOptions, ToldLength, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.registry import Importer

__all__ = ["IMPORTER"]


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the recording resources in a document."""
    if isinstance(document.value, list):
        return document.rows()
    if document.get("recordings") is not None:
        return document.rows("recordings")
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a recording resource and the parts beside it say."""
    call_id, sid = call.needed_text("call_sid"), call.needed_text("sid")
    start = call.get("start_time")
    parts = own_parts(export, (export.stem, sid, call_id), options)
    is_conference = call.text("conference_sid") is not None
    return Draft(
        call_id=call_id,
        platform="twilio",
        tracks=(_track(call, sid),),
        started_at=None if start is None else second_text(instant_ms(start, "mail")),
        tools=parts.tools,
        turns=parts.turns,
        facts=known_facts({"source": (call.text("source"),)}),
        lengths=_lengths(call),
        turn_times=("start_ms and end_ms of the transcript", "milliseconds"),
        timing_reasons=_alone(options) if is_conference else (),
        inferred=(
            *start_note(options.recording_started_ms),
            *_inferred(is_conference=is_conference),
            *cost_left_out(call.get("price"), "price is what the recording cost, not the call"),
        ),
        problems=parts.problems,
    )


def _lengths(call: Node) -> tuple[ToldLength, ...]:
    told = call.get("duration")
    if told is None or told.value in ("", "-1"):
        return ()
    length_ms = milliseconds(told, "s")
    return (ToldLength(field="duration", shown=told.shown(), unit="seconds", length_ms=length_ms),)


def _track(call: Node, sid: str) -> Track:
    address = call.text("media_url") or call.text("uri")
    names = [f"{sid}.wav", f"{sid}.mp3"]
    if address is not None:
        names.insert(0, address.removesuffix(".json"))
    return Track(
        names=tuple(names),
        ask="find it by who called: the first channel is the parent leg, or a conference's first "
        "participant",
    )


def _alone(options: ImportOptions) -> tuple[str, ...]:
    """Return why timing does not hold where the caller shares a conference's second channel."""
    caller = options.caller_channel
    if caller is None and options.agent_channel is not None:
        caller = 1 - options.agent_channel
    return () if caller == 0 else ("caller_not_alone",)


def _inferred(*, is_conference: bool) -> tuple[Inferred, ...]:
    if not is_conference:
        return ()
    how = "a conference's second channel mixes all but its first participant"
    return (Inferred(field="/audio/0/channels", value="conference", how=how),)


IMPORTER = Importer(
    name="twilio",
    holds="a recording resource",
    patterns=("RE*.json", "*recording*.json"),
    calls=calls,
    draft=draft,
)
