"""Any number of records as one table: who is ahead, whose intervals overlap, what all of them say.

Nothing is computed that the records do not hold: the figures of the paper's sections 4.1 to 4.4
follow from its thirteen records alone. Overlapping intervals mean that the table does not tell two
agents apart; over the same calls `run_comparison` can.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inquesto_core.compare.ranking import (
    Ranking,
    kendall_tau,
    rank_runs,
    ranked_run,
    refuse_different,
    spearman_rho,
)
from inquesto_core.errors import IncomparableError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.score.completion import CostOfPass

__all__ = [
    "BoardRow",
    "Correlation",
    "Entry",
    "Findings",
    "Leaderboard",
    "build_leaderboard",
    "overlap_letters",
]

_MARK = re.compile(r"\[[^\]]*\]")
_AVERAGED = ("mean of views", "geometric mean of views", "min view")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record, where it was read, and what its calls cost, by currency, where that is told."""

    source: str
    record: Mapping[str, Any]
    costs: tuple[CostOfPass, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One record of the table.

    Parameters
    ----------
    overlap : str
        Letters of `overlap_letters`; empty without an interval.
    marks : tuple of str
        What its citation line says in brackets: another judge, an incomplete population.
    """

    entry: Entry
    overlap: str
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """How alike two variants of the score order the records that have both.

    Parameters
    ----------
    n : int
    rho, tau : float or None
        Spearman's and Kendall's; None below three records, or where one variant is constant.
    """

    first: str
    second: str
    n: int
    rho: float | None
    tau: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the records say together.

    Parameters
    ----------
    failed, audio_only : int
        Failed calls, and those of them that fail on audio-derived events alone.
    worst_group : tuple of (agent, group, points) or None
        The speaker group that falls furthest below the reference group, and whose.
    false_accepts, false_rejects : int
        Calls in which impostors were served, and verified callers refused.
    identity : pair of float or None
        Lowest and highest identity view, in percent.
    """

    failed: int
    audio_only: int
    worst_group: tuple[str, str, float] | None
    false_accepts: int
    false_rejects: int
    identity: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Records side by side.

    Parameters
    ----------
    rows : tuple of BoardRow
        By score, best first; equals in the order given; those without a scored call last.
    ranking : Ranking or None
        The other readings of each score; None where no record has a scored call.
    correlations : tuple of Correlation
        Of each two variants.
    timing_only : tuple of Entry
        Records without a scenario: they have no score and stand apart.
    notes : tuple of str
        What was passed over.
    """

    protocol: str
    rows: tuple[BoardRow, ...]
    ranking: Ranking | None
    correlations: tuple[Correlation, ...]
    findings: Findings | None
    timing_only: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def records(self) -> list[Mapping[str, Any]]:
        """The records of the rows, in their order."""
        return [row.entry.record for row in self.rows]


def build_leaderboard(entries: Sequence[Entry], *, notes: Sequence[str] = ()) -> Leaderboard:
    """Return records as one table.

    Raises
    ------
    IncomparableError
        ``no_records``. ``records_differ``: they are not of one protocol and population.
    """
    if not entries:
        raise IncomparableError(
            Problem(
                code="no_records",
                found="no record was found",
                expected="record.json files, run folders, or folders and archives of them",
            )
        )
    timing_only = tuple(entry for entry in entries if _is_timing_only(entry.record))
    ranked = [entry for entry in entries if not _is_timing_only(entry.record)]
    refuse_different([dict(entry.record) for entry in ranked])
    ordered = sorted(ranked, key=lambda entry: -_score(entry.record))
    scored = [dict(entry.record) for entry in ordered if entry.record["n"]]
    letters = overlap_letters([entry.record["ci95"] for entry in ordered])
    return Leaderboard(
        protocol=str(entries[0].record["protocol"]),
        rows=tuple(
            BoardRow(entry=entry, overlap=own, marks=tuple(_MARK.findall(entry.record["citation"])))
            for entry, own in zip(ordered, letters, strict=True)
        ),
        ranking=rank_runs(scored) if scored else None,
        correlations=_correlations(scored),
        findings=_findings(scored) if scored else None,
        timing_only=timing_only,
        notes=tuple(notes),
    )


def _is_timing_only(record: Mapping[str, Any]) -> bool:
    return record["score"] is None and record.get("timing_only") is not None


def _score(record: Mapping[str, Any]) -> float:
    return 100 * record["passed"] / record["n"] if record["n"] else -1.0


def overlap_letters(intervals: Sequence[Sequence[float] | None]) -> list[str]:
    """Return letters by interval: two intervals share a letter exactly where they overlap.

    Each letter is a largest set of intervals that all overlap; the first is that of the highest.
    Touching counts as overlap.

    Parameters
    ----------
    intervals : sequence of pair of float, or None
        None gets no letter.

    Examples
    --------
    >>> overlap_letters([(30, 50), (20, 40), (10, 25), None])
    ['a', 'ab', 'b', '']
    """
    held = {at: pair for at, pair in enumerate(intervals) if pair is not None}
    sets: list[frozenset[int]] = []
    for low, _ in sorted(held.values(), key=lambda pair: -pair[0]):
        together = frozenset(at for at, pair in held.items() if pair[0] <= low <= pair[1])
        if not any(together <= other for other in sets):
            sets = [other for other in sets if not other <= together]
            sets.append(together)
    names = [_letter(at) for at in range(len(sets))]
    return [
        "".join(name for name, together in zip(names, sets, strict=True) if at in together)
        for at in range(len(intervals))
    ]


def _letter(at: int) -> str:
    """Return a, b … z, then a1, b1 …: still told apart where they stand together."""
    letter = chr(ord("a") + at % 26)
    return letter if at < 26 else f"{letter}{at // 26}"


def _variants(record: dict[str, Any]) -> dict[str, float | None]:
    run = ranked_run(record)
    others = {name: value for name, value in run.readings.items() if name not in _AVERAGED}
    return {"score": run.score, **others}


def _correlations(records: Sequence[dict[str, Any]]) -> tuple[Correlation, ...]:
    held = [_variants(record) for record in records]
    names = dict.fromkeys(name for each in held for name in each)
    found = []
    for first, second in itertools.combinations(names, 2):
        pairs = [
            (one, two)
            for each in held
            if (one := each.get(first)) is not None and (two := each.get(second)) is not None
        ]
        ones, twos = [one for one, _ in pairs], [two for _, two in pairs]
        found.append(
            Correlation(
                first=first,
                second=second,
                n=len(pairs),
                rho=spearman_rho(ones, twos),
                tau=kendall_tau(ones, twos),
            )
        )
    return tuple(found)


def _findings(records: Sequence[dict[str, Any]]) -> Findings:
    audio = [record["audio_only"] for record in records]
    views = [record["views"] for record in records]
    gaps = [
        (ranked_run(record).agent, group, float(gap))
        for record in records
        for group, view in record["views"]["fairness"]["by_group"].items()
        if (gap := _below_reference(view)) is not None
    ]
    identity = [
        view["identity"]["score"] for view in views if view["identity"]["score"] is not None
    ]
    lowest = min(gaps, key=lambda each: each[2], default=None)
    return Findings(
        failed=sum(part["failed"] for part in audio),
        audio_only=sum(part["failed_only_on_audio_events"] for part in audio),
        worst_group=lowest if lowest is not None and lowest[2] < 0 else None,
        false_accepts=sum(view["identity"].get("false_accepts") or 0 for view in views),
        false_rejects=sum(view["identity"].get("false_rejects") or 0 for view in views),
        identity=(min(identity), max(identity)) if identity else None,
    )


def _below_reference(view: Mapping[str, Any]) -> float | None:
    gap = view.get("delta_vs_reference")
    return None if gap is None else float(gap)
