"""What the score would be if one choice of the protocol were another.

Other severity thresholds, no audio-derived events, one number out of the four views, no judge. All
are reported, none is adopted (paper, sections 4.1, 4.3 and 4.4).
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.rate import PERCENT_DECIMALS, Rate, published_rate
from inquesto_core.score.tables import EVENT_PREFIX
from inquesto_core.score.views import is_complete, pass_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.protocol.definition import EventType, Protocol

__all__ = [
    "aggregation_ablation",
    "audio_only",
    "judge_free_columns",
    "judge_free_decisions",
    "judge_free_variant",
    "passes_at",
    "sensitivity_columns",
    "severity_sensitivity",
]

#: What a view of 0 % counts as in the geometric mean, in percent.
GEOMETRIC_FLOOR = Decimal("0.1")
FRACTION_DECIMALS = 3

_AUDIO = "audio"
#: Decimal arithmetic is the same on every machine; a root through the C library need not be.
_ARITHMETIC = Context(prec=28)


def _columns(protocol: Protocol, fail_at: int, *, without: str | None = None) -> list[str]:
    return [
        EVENT_PREFIX + event.name
        for event in protocol.events
        if event.severity >= fail_at and event.source != without
    ]


def _any(columns: Sequence[str | pl.Expr]) -> pl.Expr:
    return pl.any_horizontal(columns) if columns else pl.lit(value=False)


def passes_at(protocol: Protocol, fail_at: int, *, without: str | None = None) -> pl.Expr:
    """Return the pass rule at another threshold: goal, and no event of severity >= `fail_at`.

    Parameters
    ----------
    fail_at : int
        Inclusive.
    without : str, optional
        Events of exactly this source are passed over.

    Returns
    -------
    polars expression over a decision table
        False for a call that the agent broke off; null where the events do not decide.
    """
    fired = _any(_columns(protocol, fail_at, without=without))
    return (pl.col("state") == "scored") & pl.col("goal") & ~fired


def sensitivity_columns(protocol: Protocol) -> dict[str, pl.Expr]:
    """Return what is summed over calls: who is known and passes at each threshold, and by sound."""
    columns = {}
    for fail_at in protocol.sensitivity_fail_at:
        names = _columns(protocol, fail_at)
        unknown = _any([pl.col(name).is_null() for name in names])
        known = is_complete() & ~((pl.col("state") == "scored") & unknown)
        columns[f"known_at_{fail_at}"] = known
        columns[f"passed_at_{fail_at}"] = known & passes_at(protocol, fail_at)
    rescued = passes_at(protocol, protocol.fail_at, without=_AUDIO) & ~pl.col("passed")
    only = is_complete() & rescued
    return {**columns, "only_audio": only, "only_audio_no_reply": only & (pl.col("n_no_reply") > 0)}


def severity_sensitivity(cells: pl.DataFrame, *, protocol: Protocol) -> dict[str, Any]:
    """Return the score at every threshold that the protocol names, with ``k`` and ``n``.

    A complete call may have an unknown S1 or S2 event. Where such an event counts, the call is
    left out of that rate and counted in ``undetermined_n``, also if another event fails it
    already: membership of n never depends on the outcome.
    """
    meanings = {severity.level: severity.meaning for severity in protocol.severities}
    out: dict[str, Any] = {}
    for fail_at in protocol.sensitivity_fail_at:
        known, passed = (int(cells[f"{name}_at_{fail_at}"].sum()) for name in ("known", "passed"))
        fields = published_rate(Rate(k=passed, n=known), protocol.z)
        out[f"S{fail_at}"] = {
            "threshold": fail_at,
            "meaning": meanings[fail_at],
            "score": fields["score"],
            "lo": fields["lo"],
            "hi": fields["hi"],
            "k": passed,
            "n": known,
            "undetermined_n": pass_rate(cells).n - known,
        }
    return out


def audio_only(cells: pl.DataFrame) -> dict[str, Any]:
    """Return how many failed calls a transcript would have passed, and the score it would give.

    A call failed only on audio if its goal was met and every event at or above ``fail_at`` comes
    from audio alone. ``with_no_reply`` are those of them with an utterance left unanswered, which
    a transcript may show. ``fraction`` is None where no call failed.
    """
    rate, only = pass_rate(cells), int(cells["only_audio"].sum())
    failed = rate.n - rate.k
    return {
        "failed": failed,
        "failed_only_on_audio_events": only,
        "fraction": round(only / failed, FRACTION_DECIMALS) if failed else None,
        "score_if_transcript_only": Rate(k=rate.k + only, n=rate.n).published,
        "with_no_reply": int(cells["only_audio_no_reply"].sum()),
    }


def aggregation_ablation(views: Mapping[str, Any]) -> dict[str, Any]:
    """Return what single numbers the views could be folded into; None where a view is empty.

    Mean, geometric mean (a view below 0.1 % counts as 0.1 %) and minimum, from the one-decimal
    scores as published; under ``exact`` from the exact ones.
    """
    published = [view["score"] for view in views.values()]
    exact = [view["exact"]["score"] for view in views.values()]
    if not published or any(score is None for score in published):
        nothing = dict.fromkeys(("mean_of_views", "geometric_mean_of_views", "min_view"))
        return {**nothing, "exact": dict(nothing)}
    return {
        "mean_of_views": round(sum(published) / len(published), PERCENT_DECIMALS),
        "geometric_mean_of_views": round(_geometric_mean(published), PERCENT_DECIMALS),
        "min_view": min(published),
        "exact": {
            "mean_of_views": sum(exact) / len(exact),
            "geometric_mean_of_views": _geometric_mean(exact),
            "min_view": min(exact),
        },
    }


def _geometric_mean(scores: list[float]) -> float:
    product = Decimal(1)
    for score in scores:
        product = _ARITHMETIC.multiply(product, max(Decimal(score), GEOMETRIC_FLOOR))
    return float(_ARITHMETIC.power(product, _ARITHMETIC.divide(Decimal(1), Decimal(len(scores)))))


def judge_free_columns() -> dict[str, pl.Expr]:
    """Return what is summed over calls without their judge."""
    return {
        "n": is_complete(),
        "passed": is_complete() & pl.col("passed"),
        "vacuous": is_complete() & pl.col("judge_free_vacuous"),
    }


def judge_free_variant(cells: pl.DataFrame, *, protocol: Protocol) -> dict[str, Any]:
    """Return the score without the judge (paper, section 4.4) and how many goals ask for nothing.

    ``vacuous_n`` counts the complete calls whose judge-free goal is true whatever happens.

    Parameters
    ----------
    cells : polars.DataFrame
        The judge-free ones of a summary.
    """
    rate = published_rate(pass_rate(cells), protocol.z)
    return {**rate, "vacuous_n": int(cells["vacuous"].sum())}


def judge_free_decisions(
    decisions: pl.DataFrame, events: pl.DataFrame, *, protocol: Protocol
) -> pl.DataFrame:
    """Return the decision table as it is without a judge, for the same reductions.

    Goal and pass are the judge-free ones, judged events are absent, an event that trace or judge
    may show is there where the trace shows it. A call is open only if a judge-free quantity is.

    Parameters
    ----------
    decisions : decision table
    events : table ``events``
        Read for the source of the events that have two.
    """
    shown = events.filter(pl.col("source") == "trace")
    table = decisions.with_columns(
        _judge_free_event(event, shown).alias(EVENT_PREFIX + event.name)
        for event in protocol.events
    )
    is_open = pl.col("passed_judge_free").is_null() | pl.col("call_id").is_null()
    state = (
        pl.when(pl.col("state").is_in(["excluded", "agent_fault", "timing_only"]))
        .then(pl.col("state"))
        .when(is_open)
        .then(pl.lit("not_evaluated"))
        .otherwise(pl.lit("scored"))
    )
    severity = [
        pl.col(EVENT_PREFIX + event.name).fill_null(value=False).cast(pl.Int64) * event.severity
        for event in protocol.events
    ]
    failing = _any(_columns(protocol, protocol.fail_at)).fill_null(value=False)
    goal = pl.col("goal_judge_free")
    table = table.with_columns(
        state.alias("state"),
        goal.alias("goal"),
        pl.max_horizontal(severity).alias("worst_severity"),
    )
    state, passed = pl.col("state"), pl.col("passed_judge_free")
    return table.with_columns(
        pl.when(state == "scored").then(pl.lit([], dtype=pl.List(pl.String)))
        .otherwise(pl.col("reasons")).alias("reasons"),
        pl.when(state == "scored").then(passed)
        .when(state == "agent_fault").then(pl.lit(value=False))
        .otherwise(pl.lit(None, dtype=pl.Boolean)).alias("passed"),
        (~state.is_in(["excluded", "timing_only"]) & (failing | ~goal.fill_null(value=True)))
        .alias("known_fail"),
    )  # fmt: skip


def _judge_free_event(event: EventType, shown: pl.DataFrame) -> pl.Expr:
    """Return the event's column without the judge: ``a, b`` is either source, ``a x b`` both."""
    column = pl.col(EVENT_PREFIX + event.name)
    ways = event.source.split(", ")
    left = [way for way in ways if "judge" not in way]
    if len(left) == len(ways):
        return column
    if not left:
        return pl.lit(value=False)
    calls = shown.filter(pl.col("type") == event.name)["call_id"].unique()
    return (column & pl.col("call_id").is_in(calls.implode())).fill_null(value=False)
