"""What lies around a run's score, as lines of text and as JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.boundary_text import STAGE_TEXTS
from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.text_table import percent, text_table
from inquesto_core.score.boundary import STAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.score.call_outcomes import CallOutcomes
    from inquesto_core.score.completion import CostOfPass
    from inquesto_core.score.delivery import Delivery
    from inquesto_core.score.escalation import Escalation, Verification
    from inquesto_core.score.speech_fidelity import SpeechFidelity

__all__ = ["outcomes_document", "outcomes_lines"]

_NO_STAGE = "none shows it"
#: Entities that were not heard, of which each is shown.
_SHOWN_LOST = 10


def outcomes_document(found: CallOutcomes) -> dict[str, Any]:
    """Return the same facts as JSON values; money as text, so that no digit is lost."""
    return {
        "first_departures": found.boundaries.to_dicts(),
        "escalation": None if found.escalation is None else asdict(found.escalation),
        "verification": None if found.verification is None else asdict(found.verification),
        "delivery": None if found.delivery is None else asdict(found.delivery),
        "speech_fidelity": {
            **asdict(found.fidelity),
            "lost": [
                {"call_id": call_id, "kind": kind, "text": text}
                for call_id, kind, text in found.fidelity.lost
            ],
        },
        "costs": [
            {**asdict(cost), "total": str(cost.total), "per_pass": _money(cost.per_pass)}
            for cost in found.costs
        ],
        "by_latency": [
            {"band": band, "passed": passed, "n": n} for band, passed, n in found.by_latency
        ],
    }


def outcomes_lines(found: CallOutcomes) -> list[str]:
    """Return the sections as lines."""
    parts = (
        _departures(found.boundaries),
        _escalation(found.escalation),
        _verification(found.verification),
        _delivery(found.delivery),
        _fidelity(found.fidelity),
        _costs(found.costs),
        _latency(found.by_latency),
    )
    lines: list[str] = []
    for part in parts:
        lines += ["", *part] if lines else list(part)
    return lines


def _money(value: Any) -> str | None:
    return None if value is None else f"{value:.4f}"


def _departures(boundaries: pl.DataFrame) -> Iterator[str]:
    yield f"Where {boundaries.height} failed calls first depart (explain shows a call)"
    if boundaries.is_empty():
        return
    rows = []
    for stage in (*STAGES, None):
        own = boundaries.filter(pl.col("first").eq_missing(pl.lit(stage, dtype=pl.String)))
        unsure = own.filter(pl.col("unknown_before").list.len() > 0).height
        name = _NO_STAGE if stage is None else stage.replace("_", " ")
        unknown = "" if stage is None else str((boundaries[stage] == "unknown").sum())
        rows.append((name, str(own.height), str(unsure), unknown))
    yield from text_table(("stage", "first", "with unknown before", "unknown"), rows)
    told = [stage for stage in STAGES if (boundaries["first"] == stage).any()]
    for stage in told:
        yield from wrap_columns(
            f"{stage.replace('_', ' ')}: {STAGE_TEXTS[stage]}", WIDTH, first="  ", rest="    "
        )


def _escalation(found: Escalation | None) -> Iterator[str]:
    yield "Hand-overs"
    if found is None:
        yield "  the population names no transfer tool"
        return
    yield f"  handed over {percent(found.transferred, found.n)} of the calls with a trace"
    yield f"  recall, of those that ask for it {percent(found.wanted_transferred, found.wanted)}"
    yield (
        f"  precision, of those handed over {percent(found.wanted_transferred, found.transferred)}"
    )
    yield (
        f"  contained, of those that do not ask {percent(found.contained, found.not_wanted)}; "
        f"contained and passed {percent(found.contained_passed, found.not_wanted)}"
    )


def _verification(found: Verification | None) -> Iterator[str]:
    yield "Verifications"
    if found is None:
        yield "  the population names no verifying tool"
        return
    yield (
        f"  matched by sound alone {percent(found.by_sound_only, found.n)} of the calls with a "
        f"verification; of these passed {percent(found.by_sound_only_passed, found.by_sound_only)}"
    )


def _delivery(found: Delivery | None) -> Iterator[str]:
    yield "What the agent meant to say, and what was heard"
    if found is None:
        yield "  not told of a run in several parts"
        return
    if not found.n_told:
        yield f"  the platforms tell of none of {found.n_turns} agent turns what was heard"
    else:
        yield (
            f"  told of {found.n_told} of {found.n_turns} agent turns; "
            f"words heard {percent(found.n_heard, found.n_words)}; turns cut short {found.n_cut}, "
            f"{found.cut_without_barge_in} of them with no barge-in to be heard"
        )
        for kind, number in found.said.items():
            yield f"  {kind}: heard {percent(found.heard[kind], number)}"
    if found.marked:
        yield (
            f"  marks of interruption in {found.marked} turns, {found.marked_stale} of them stale: "
            "marks decide nothing"
        )


def _fidelity(found: SpeechFidelity) -> Iterator[str]:
    yield "What the agent was to say, and what its voice said"
    if not found.n_calls:
        yield "  our own transcriber heard no call that brings a text (score --transcriber pinned)"
        return
    yield f"  entities of the text that were heard in the sound of {counted(found.n_calls, 'call')}"
    for kind, number in found.said.items():
        yield f"  {kind}: heard {percent(found.heard[kind], number)}"
    for call_id, kind, text in found.lost[:_SHOWN_LOST]:
        line = escape_terminal(f"{call_id}: {kind} not heard: {text}")
        yield from wrap_columns(line, WIDTH, first="    ", rest="      ")
    if len(found.lost) > _SHOWN_LOST:
        yield f"    and {len(found.lost) - _SHOWN_LOST} more (--json has all)"


def _costs(found: tuple[CostOfPass, ...]) -> Iterator[str]:
    yield "Cost"
    if not found:
        yield "  no cost is told (--costs FILE, or --bundles with the tag `cost`)"
    for cost in found:
        unit = cost.currency or "(no currency)"
        per_pass = _money(cost.per_pass)
        one = "no call passed" if per_pass is None else f"{per_pass} {unit} a passed call"
        yield (
            f"  {one}: {cost.total} {unit} over {counted(cost.n_told, 'call')}, "
            f"{cost.passed} passed; "
            f"not told of {cost.n_not_told}"
        )


def _latency(found: list[tuple[str, int, int]]) -> Iterator[str]:
    yield "Passed, by median reply latency"
    for band, passed, n in found:
        yield f"  {band}: {percent(passed, n)}"
