"""Stages that platforms report: side by side, and compared only where one platform reports both."""

from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.stage_pairs import NO_STAGES, SideStages, stage_differences

QUICK = Resampling(resamples=1_000)


def side(*, more=0.0, clusters=12, sources=("vapi",), stages=("model", "endpointing")):
    rows = [
        {"stage": stage, "cluster": f"s{nth:02}", "value_ms": 300.0 + 10 * at + more, "n": 1}
        for stage in stages
        for nth in range(clusters)
        for at in range(10)
    ]
    return SideStages(
        values=pl.DataFrame(rows, schema_overrides={"n": pl.Int64}),
        calls=clusters,
        sources=sources,
    )


def test_a_stage_has_its_n_and_the_difference_of_median_and_p95():
    found = stage_differences(side(), side(more=50.0), resampling=QUICK)
    assert [each.stage for each in found] == ["endpointing", "model"]
    model = found[1]
    assert (model.n_a, model.n_b, model.calls_a) == (120, 120, 12)
    median, p95 = model.quantiles
    assert (median.a, median.b, median.difference.value) == (340.0, 390.0, 50.0)
    assert (median.difference.low, median.difference.high) == (50.0, 50.0)
    assert p95.difference.value == 50.0
    document = model.document()
    assert document["is_reported"] is True
    assert document["quantiles"][0]["difference"]["value"] == 50.0


def test_few_scenarios_leave_a_stage_inconclusive():
    (found,) = stage_differences(
        side(clusters=9, stages=("model",)), side(clusters=9, stages=("model",)), resampling=QUICK
    )
    assert found.quantiles[0].difference.inconclusive == "fewer than 10 clusters"


@pytest.mark.parametrize(
    ("a", "b", "comparable"),
    [
        (("vapi",), ("vapi",), True),
        (("vapi",), ("livekit",), False),
        (("livekit", "vapi"), ("livekit", "vapi"), False),
    ],
    ids=["one platform", "two", "both on either side"],
)
def test_only_one_platform_on_both_sides_is_compared(a, b, comparable):
    found = stage_differences(side(sources=a), side(sources=b), resampling=QUICK)[0]
    assert found.is_comparable is comparable
    shown = found.document()["quantiles"][0]
    assert (shown["difference"] is not None) is comparable
    assert shown["a"] == 340.0


def test_a_side_that_reports_nothing_leaves_the_other_to_be_shown():
    found = stage_differences(NO_STAGES, side(), resampling=QUICK)
    assert [(each.n_a, each.n_b) for each in found] == [(0, 120), (0, 120)]
    assert found[0].quantiles[0].difference.value is None
    assert not found[0].is_comparable
    assert stage_differences(NO_STAGES, NO_STAGES, resampling=QUICK) == ()
