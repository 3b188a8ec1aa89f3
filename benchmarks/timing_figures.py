"""Figures of many calls: the JSON's, and what 95 % of the boundary errors do not exceed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.timing_metrics import CLASSES, class_of, sum_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.timing_metrics import CallErrors
    from benchmarks.timing_truth import Truth

__all__ = ["ALL", "by_class", "by_condition", "figures", "percentile", "uncertainty"]

ALL = "all"


def percentile(errors: Sequence[int], share: float) -> float | None:
    """Return a percentile of absolute errors, linear between ranks; None of no error."""
    return round(float(np.percentile(np.abs(errors), share)), 1) if errors else None


def _median(errors: Sequence[int]) -> float | None:
    return round(float(np.median(errors)), 1) if errors else None


def figures(condition: str, errors: CallErrors) -> dict[str, Any]:
    """Return one object of the JSON.

    Every figure but ``calls`` and ``not_evaluated_calls`` is of the evaluated calls alone; a figure
    of nothing is null.
    """
    minutes = errors.evaluated_ms / 60_000
    return {
        "condition": condition,
        "calls": errors.calls,
        "onsets_true": errors.runs_true,
        "onsets_found": len(errors.onset_ms),
        "onset_abs_p50_ms": percentile(errors.onset_ms, 50),
        "onset_abs_p95_ms": percentile(errors.onset_ms, 95),
        "offset_abs_p50_ms": percentile(errors.offset_ms, 50),
        "offset_abs_p95_ms": percentile(errors.offset_ms, 95),
        "offset_bias_ms": _median(errors.offset_ms),
        "latency_abs_p50_ms": percentile(errors.latency_ms, 50),
        "latency_abs_p95_ms": percentile(errors.latency_ms, 95),
        "false_segments_per_min": round(errors.false_segments / minutes, 2) if minutes else None,
        "talk_over": asdict(errors.talk_over),
        "slow_or_none": asdict(errors.slow_or_none),
        "not_evaluated_calls": errors.not_evaluated,
    }


def by_condition(
    truths: Sequence[Truth], errors: Mapping[str, CallErrors]
) -> dict[str, CallErrors]:
    """Return errors by condition, class after class, and of all together."""
    names = sorted({t.condition for t in truths}, key=lambda n: (CLASSES.index(class_of(n)), n))
    parts = {
        name: sum_up(errors[t.call_id] for t in truths if t.condition == name) for name in names
    }
    return {**parts, ALL: sum_up(parts.values())}


def by_class(truths: Sequence[Truth], errors: Mapping[str, CallErrors]) -> dict[str, CallErrors]:
    """Return errors by class of conditions, those that occur."""
    present = {class_of(truth.condition) for truth in truths}
    return {
        name: sum_up(errors[t.call_id] for t in truths if class_of(t.condition) == name)
        for name in CLASSES
        if name in present
    }


def _covering(errors: Sequence[int]) -> int | None:
    """Return the least number of ms that at least 95 % of absolute errors do not exceed."""
    if not errors:
        return None
    return int(np.percentile(np.abs(errors), 95, method="inverted_cdf"))


def uncertainty(parts: Mapping[str, CallErrors]) -> dict[str, dict[str, int | None]]:
    """Return the half-width of the interval that covers 95 % of caller boundary errors.

    ``both_ms`` covers onsets and offsets together, ``wider_ms`` each of them.
    """
    told: dict[str, dict[str, int | None]] = {}
    for name, errors in parts.items():
        onset, offset = _covering(errors.onset_ms), _covering(errors.offset_ms)
        told[name] = {
            "boundaries": len(errors.onset_ms) + len(errors.offset_ms),
            "onset_ms": onset,
            "offset_ms": offset,
            "both_ms": _covering(errors.onset_ms + errors.offset_ms),
            "wider_ms": max((v for v in (onset, offset) if v is not None), default=None),
        }
    return told
