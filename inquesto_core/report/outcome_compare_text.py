"""Two agents, or two protocols, over the same calls under signals or checks, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.compare_figures import estimate_words, interval_words, points
from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.text_table import text_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inquesto_core.compare.outcome_pairs import OutcomeComparison

__all__ = ["outcome_comparison_lines", "outcome_difference_lines", "outcome_difference_summary"]

#: Calls that are shown of each kind.
_SHOWN = 10
_PARTNERS = {
    "absent": "was never made",
    "excluded": "is excluded",
    "not_evaluated": "could not be evaluated",
    "not_applicable": "has nothing that applies",
    "slot_taken_twice": "is one of several in its slot",
}
_OUTCOMES = ("broken", "fixed", "opened", "closed")


def outcome_comparison_lines(found: OutcomeComparison) -> list[str]:
    """Return a comparison as lines of text, outside text escaped; every difference is B minus A."""
    parts = (_heading(found), _success(found), _parts(found), _slices(found), _moved(found))
    lines: list[str] = []
    for part in parts:
        made = list(part)
        lines += [*([""] if lines and made else []), *made]
    return lines


def _wrap(text: str, *, first: str = "   ", rest: str = "     ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _heading(found: OutcomeComparison) -> Iterator[str]:
    for letter, side in (("A", found.a), ("B", found.b)):
        yield from _wrap(f"{side.agent}, of {side.run}", first=f"{letter}  ")
    text = (
        f"{counted(found.outcomes.n, 'pair')} of calls of {counted(found.clusters, 'scenario')} "
        f"under {found.protocol}: "
        "the same scenario, condition, speaker group and trial"
    )
    left = [
        f"{n} of {side.upper()} left out: the partner {_PARTNERS.get(reason, reason)}"
        for side, reason, n, _ in found.pairing.left_out.iter_rows()
    ]
    yield from _wrap(". ".join([text, *left]) + ".", first="", rest="")
    for note in found.notes:
        yield from _wrap(f"note: {note}", first="", rest="  ")


def _success(found: OutcomeComparison) -> Iterator[str]:
    counts = found.outcomes
    p_value = "below 0.001" if found.mcnemar_p < 0.001 else f"{found.mcnemar_p:.3f}"
    yield "Success"
    yield from _wrap(
        f"Calls that succeed: A {counts.passed_a}, B {counts.passed_b} of {counts.n}; "
        f"B − A {estimate_words(found.score, points, 'points')}."
    )
    yield from _wrap(
        f"Fixed {counts.fixed}, broken {counts.broken}, still failing {counts.still_failing}, "
        f"still passing {counts.still_passing}. McNemar's exact p is {p_value}; it takes all calls "
        "as independent, the interval does not."
    )


def _parts(found: OutcomeComparison) -> Iterator[str]:
    yield "Signals" if found.method == "signals" else "Assertions"
    rows = [
        (
            part.name,
            str(part.n),
            str(part.a),
            str(part.b),
            str(part.broken),
            str(part.fixed),
            interval_words(part.difference, points),
        )
        for part in found.parts
    ]
    yield from text_table(("", "n", "A", "B", "broken", "fixed", "B − A, points"), rows)


def _slices(found: OutcomeComparison) -> Iterator[str]:
    if not found.slices:
        return
    yield "Within slices (fewer than 30 pairs, or few scenarios: unsure)"
    rows = [
        (
            escape_terminal(f"{each.column} {each.value}"),
            str(each.n),
            str(each.passed_a),
            str(each.passed_b),
            interval_words(each.difference, points),
        )
        for each in found.slices
    ]
    yield from text_table(("", "n", "A", "B", "B − A, points"), rows)


def _moved(found: OutcomeComparison) -> Iterator[str]:
    pairs = found.pairing.pairs
    for outcome in ("broken", "fixed"):
        ours = pairs.filter(pl.col("outcome") == outcome)
        if ours.is_empty():
            continue
        yield f"Calls that are {outcome}: {ours.height}"
        for row in ours.head(_SHOWN).iter_rows(named=True):
            what = ", ".join(row["parts"]) or "nothing single"
            yield from _wrap(f"{row['call_id_a']} and {row['call_id_b']}: {what}")
        if ours.height > _SHOWN:
            yield f"   and {ours.height - _SHOWN} more (--json has all)"


def outcome_difference_summary(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    differences: pl.DataFrame,
    calls: int,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return what rescoring changed as JSON values.

    Parameters
    ----------
    before, after : mapping of fingerprint to record
    differences : polars.DataFrame
        `inquesto_core.compare.outcome_differences.DIFFERENT`.
    calls : int
        All calls of the run.
    """
    counts = dict(differences.group_by("outcome").len().iter_rows())
    return {
        "agents": {
            fingerprint: {
                name: {"score": record["score"], "citation": record["citation"]}
                for name, record in (("before", before.get(fingerprint)), ("after", record_after))
                if record is not None
            }
            for fingerprint, record_after in after.items()
        },
        "calls": {"all": calls, **{name: counts.get(name, 0) for name in _OUTCOMES}},
        "notes": list(notes),
    }


def outcome_difference_lines(
    summary: Mapping[str, Any], differences: pl.DataFrame, *, kept_in: str
) -> list[str]:
    """Return the same as lines of text, with the first calls that moved."""
    lines: list[str] = []
    for each in summary["agents"].values():
        lines += [f"{name:<7} {escape_terminal(said['citation'])}" for name, said in each.items()]
        lines.append("")
    counts = summary["calls"]
    moved = " · ".join(f"{name} {counts[name]}" for name in _OUTCOMES)
    lines.append(f"Calls: {counts['all']}; {moved}")
    for note in summary["notes"]:
        lines += _wrap(f"note: {note}", first="", rest="  ")
    shown = differences.filter(pl.col("outcome") != "same").head(_SHOWN)
    for row in shown.iter_rows(named=True):
        what = ", ".join(row["parts"] or ()) or row["state_after"]
        lines += _wrap(f"{row['outcome']}: {row['call_id']}: {what}", first="  ", rest="    ")
    lines.append(f"All of it, call by call: {escape_terminal(kept_in)}")
    return lines
