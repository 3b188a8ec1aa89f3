"""Transfers, containment and verifications by sound, each on its own denominator.

Counts, never rates: the reader divides. A call belongs to a denominator only where the evidence to
decide it is there; what that is stands beside each count.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

__all__ = ["Escalation", "Verification", "escalation", "verification"]

#: A successful verification's result that says it matched by sound, as canonical JSON.
_BY_SOUND = (
    r'(?i)"(match|match_type|matched_by|match_method|method|basis)":'
    r'"(soundex|metaphone|phonetic|sound[_ -]?alike|sounds?[_ -]?like)'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """Who was handed over, and who should have been.

    Parameters
    ----------
    n : int
        Calls in n with a trace, of a population that names a transfer tool.
    transferred : int
        Of these, handed over by a tool call that was performed; a spoken promise is none.
    wanted, wanted_transferred : int
        Calls whose scenario asks for a hand-off, and those of them that were handed over: recall
        is their quotient, precision is ``wanted_transferred / transferred``.
    not_wanted, contained, contained_passed : int
        Calls whose scenario does not, those of them that were not handed over, and of these those
        that passed. A call that was kept and failed is contained, and no success.
    """

    n: int
    transferred: int
    wanted: int
    wanted_transferred: int
    not_wanted: int
    contained: int
    contained_passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Calls in which a verification succeeded, and those in which only sound matched.

    Parameters
    ----------
    n : int
        Calls in n with a performed verification.
    by_sound_only, by_sound_only_passed : int
        Of these, calls all of whose verifications say that they matched by sound; and of those,
        the ones that passed.
    """

    n: int
    by_sound_only: int
    by_sound_only_passed: int


def escalation(facts: pl.DataFrame, decisions: pl.DataFrame) -> Escalation:
    """Return the counts of hand-overs.

    Parameters
    ----------
    facts : `trace_facts`
    decisions : decision table
        Of the calls in n; others are left out.
    """
    calls = _in_n(decisions).join(
        facts.select("call_id", "handoff", "transfer_performed"), on="call_id"
    )
    known = calls.filter(pl.col("transfer_performed").is_not_null())
    moved, wanted = pl.col("transfer_performed"), pl.col("handoff")
    kept = ~wanted & ~moved
    counts = known.select(
        n=pl.len(),
        transferred=moved.sum(),
        wanted=wanted.sum(),
        wanted_transferred=(wanted & moved).sum(),
        not_wanted=(~wanted).sum(),
        contained=kept.sum(),
        contained_passed=(kept & pl.col("passed")).sum(),
    ).row(0, named=True)
    return Escalation(**{name: int(value or 0) for name, value in counts.items()})


def verification(
    tool_calls: pl.DataFrame,
    decisions: pl.DataFrame,
    *,
    verify: tuple[str, ...],
    performed: tuple[str, ...],
) -> Verification:
    """Return the counts of verifications by sound.

    Parameters
    ----------
    tool_calls : evidence table
    verify : tuple of str
        The population's verifying tools.
    performed : tuple of str
        Statuses that count as done.
    """
    done = tool_calls.filter(
        pl.col("name").is_in(verify) & pl.col("status").is_in(performed)
    ).with_columns(by_sound=pl.col("result").str.contains(_BY_SOUND).fill_null(value=False))
    calls = _in_n(decisions).join(
        done.group_by("call_id").agg(only=pl.col("by_sound").all()), on="call_id"
    )
    counts = calls.select(
        n=pl.len(),
        by_sound_only=pl.col("only").sum(),
        by_sound_only_passed=(pl.col("only") & pl.col("passed")).sum(),
    ).row(0, named=True)
    return Verification(**{name: int(value or 0) for name, value in counts.items()})


def _in_n(decisions: pl.DataFrame) -> pl.DataFrame:
    return decisions.filter(pl.col("passed").is_not_null()).select("call_id", "passed")
