"""A comparison as JSON values; rates are in [0, 1], times in milliseconds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from inquesto_core.compare.bootstrap import json_number
from inquesto_core.compare.repeats import zero_failure_bound

if TYPE_CHECKING:
    from inquesto_core.compare.latency_pairs import WaitDifference
    from inquesto_core.compare.regression import FailureCheck
    from inquesto_core.compare.repeats import Repeats
    from inquesto_core.compare.run_comparison import MeanDifference, RunComparison
    from inquesto_core.compare.slices import SliceDifference, WorstGroup

__all__ = ["comparison_document"]


def comparison_document(found: RunComparison) -> dict[str, Any]:
    """Return everything that a comparison found."""
    counts, n = found.outcomes, found.outcomes.n
    return {
        "a": asdict(found.a),
        "b": asdict(found.b),
        "protocol": found.protocol,
        "population": found.population,
        "pairs": n,
        "left_out": found.pairing.left_out.to_dicts(),
        "resampling": {
            "method": "symmetric studentised cluster bootstrap",
            "cluster": found.cluster,
            "clusters": found.clusters,
            **asdict(found.resampling),
        },
        "score": {
            "passed_a": counts.passed_a,
            "passed_b": counts.passed_b,
            **{name: getattr(counts, name) for name in ("broken", "fixed")},
            "still_failing": counts.still_failing,
            "still_passing": counts.still_passing,
            "difference": found.score.document(),
            "mcnemar_exact_p": found.mcnemar_p,
            "bounds": None if found.bounds is None else list(found.bounds),
        },
        "goal": {
            "reached_a": found.goal_a,
            "reached_b": found.goal_b,
            "n": found.goal_n,
            "difference": found.goal.document(),
        },
        "severities": [
            {
                **row,
                "difference": found.critical[row["severity"]].document(),
                "none_in_a": zero_failure_bound(n) if row["a"] == 0 else None,
                "none_in_b": zero_failure_bound(n) if row["b"] == 0 else None,
            }
            for row in found.severities.to_dicts()
        ],
        "critical_calls": found.critical_calls.document(),
        "events": found.events.to_dicts(),
        "causes": found.causes.to_dicts(),
        "waits_of": found.waits_of,
        "censored": None if found.censored is None else list(found.censored),
        "waits": [_wait(each) for each in found.waits],
        "reported_stages": [each.document() for each in found.stages] or None,
        "slow_turn_calls": None if found.slow_turns is None else found.slow_turns.document(),
        "barge_ins": [each.document() for each in found.barge_ins] or None,
        "conduct": [_mean(each) for each in found.conduct],
        "effort": [_mean(each) for each in found.effort],
        "corrected": None if found.corrected is None else found.corrected.document(),
        "regression": None
        if found.regressions is None
        else {"failures": [_checked(*each) for each in found.regressions]},
        "cost": [each.document() for each in found.costs] or None,
        "priced": None if found.priced is None else found.priced.document(),
        "slices": [_slice(each) for each in found.slices],
        "worst_groups": [_worst(each) for each in found.worst],
        "repeats": {side: _repeats(each) for side, each in found.repeats.items()},
        "notes": list(found.notes),
    }


def _wait(wait: WaitDifference) -> dict[str, Any]:
    return {
        "kind": wait.kind,
        "n_a": wait.n_a,
        "n_b": wait.n_b,
        "unanswered_a": wait.unanswered_a,
        "unanswered_b": wait.unanswered_b,
        "unanswered": wait.unanswered.document(),
        "cut_short": None if wait.cut_short is None else list(wait.cut_short),
        "quantiles": [
            {
                "share": each.share,
                "a": json_number(each.a),
                "b": json_number(each.b),
                "difference": each.difference.document(),
            }
            for each in wait.quantiles
        ],
    }


def _checked(one: FailureCheck, two: FailureCheck) -> dict[str, Any]:
    return {
        "call_id": one.failure.call_id,
        "category": one.failure.category,
        "severity": one.failure.severity,
        "cut_from": {"agent": one.failure.agent, "sha256": one.failure.fingerprint},
        **{
            side: {
                "outcome": check.outcome,
                "again": list(check.again),
                "calls": list(check.calls),
            }
            for side, check in (("a", one), ("b", two))
        },
    }


def _mean(mean: MeanDifference) -> dict[str, Any]:
    return {"name": mean.name, "a": mean.a, "b": mean.b, "difference": mean.difference.document()}


def _slice(found: SliceDifference) -> dict[str, Any]:
    names = ("column", "value", "n", "clusters", "passed_a", "passed_b", "broken", "fixed")
    return {
        **{name: getattr(found, name) for name in names},
        "still_failing": found.n - found.passed_a - found.fixed,
        "rate_a": found.rate_a.document(),
        "rate_b": found.rate_b.document(),
        "difference": found.difference.document(),
        "p_value_holm": found.adjusted,
    }


def _worst(found: WorstGroup) -> dict[str, Any]:
    names = ("column", "side", "value", "rate", "others", "n")
    return {**{name: getattr(found, name) for name in names}, "gap": found.gap.document()}


def _repeats(found: Repeats) -> dict[str, Any]:
    return {
        "slots": found.slots,
        "trials": found.trials,
        "rates": [
            {
                "k": each.k,
                "slots": each.slots,
                "pass_hat_k": each.all_pass,
                "pass_at_k": each.any_pass,
            }
            for each in found.rates
        ],
        "flips": found.flips.to_dicts(),
    }
