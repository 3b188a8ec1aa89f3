from __future__ import annotations

import pytest
from decision_cases import (
    complete_run,
    decision,
    fuzz_run,
    published_records,
    summary,
)

from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score.rate import Rate
from inquesto_core.score.views import diagnostic_views, pass_rate, published_difference

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = load_population("billing-0.1", PROTOCOL)


def views_of(rows):
    cells = summary(PROTOCOL, rows).cells
    return diagnostic_views(cells, protocol=PROTOCOL, population=POPULATION)


def without_ours(view):
    if not isinstance(view, dict):
        return view
    return {
        key: without_ours(value)
        for key, value in view.items()
        if key not in ("exact", "non_identity")
    }


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 12, 35, 43, 44, 45])
def test_the_views_are_those_of_the_reference(shared, seed):
    table, record = fuzz_run(shared, seed, PROTOCOL)
    mine = views_of(table)
    assert without_ours(mine) == record["views"]
    assert list(mine["robustness"])[:6] == list(record["views"]["robustness"])


def test_every_published_gap_follows_from_counts(shared):
    for record in published_records(shared).values():
        degraded = record["views"]["robustness"]
        clean = Rate(
            k=record["passed"] - degraded["passed"], n=record["n"] - degraded["n"]
        ).published
        assert published_difference(clean, degraded["score"]) == degraded["gap_vs_clean"]


def test_every_published_difference_between_groups_follows_from_counts(shared):
    for record in published_records(shared).values():
        fairness = record["views"]["fairness"]
        scores = {
            name: Rate(k=row["passed"], n=row["n"]).published
            for name, row in fairness["by_group"].items()
        }
        for name, row in fairness["by_group"].items():
            delta = published_difference(scores[name], scores["us_female"])
            assert delta == row["delta_vs_reference"]
        assert min(scores, key=lambda name: (scores[name], name)) == fairness["worst_group"]


def test_sixteen_published_differences_are_not_the_exact_ones(shared):
    differing = 0
    for record in published_records(shared).values():
        degraded = record["views"]["robustness"]
        clean = 100 * (record["passed"] - degraded["passed"]) / 102
        differing += round(clean - 100 * degraded["passed"] / 204, 1) != degraded["gap_vs_clean"]
        groups = record["views"]["fairness"]["by_group"]
        reference = 100 * groups["us_female"]["passed"] / 81
        for row in groups.values():
            exact = 100 * row["passed"] / row["n"] - reference
            differing += round(exact, 1) != row["delta_vs_reference"]
    assert differing == 16


def test_the_exact_difference_stands_beside_the_published_one():
    rows = complete_run(PROTOCOL, POPULATION)
    wanted = {"us_female": 34, "uk_female": 40}  # of 81 and of 75, as qwen7b at 1100 ms
    for row in rows:
        left = wanted.get(row["group"], 0)
        row["passed"] = left > 0
        wanted[row["group"]] = left - 1
    group = views_of(rows)["fairness"]["by_group"]["uk_female"]
    assert group["delta_vs_reference"] == 11.3
    assert group["exact"]["delta_vs_reference"] == pytest.approx(11.358, abs=5e-4)


def test_the_slices_of_the_default_population_have_the_sizes_of_the_paper():
    views = views_of(complete_run(PROTOCOL, POPULATION))
    sizes = {name: view["n"] for name, view in views.items()}
    assert sizes == {"behavior": 24, "robustness": 204, "identity": 18, "fairness": 75}


def test_the_group_table_without_identity_calls_has_72_a_group():
    fairness = views_of(complete_run(PROTOCOL, POPULATION))["fairness"]
    assert {row["n"] for row in fairness["non_identity"]["by_group"].values()} == {72}
    assert fairness["by_group"]["us_female"]["n"] == 81


def test_an_empty_slice_has_no_score_and_n_0():
    views = views_of([decision(PROTOCOL)])
    assert views["robustness"]["score"] is None
    assert views["robustness"]["n"] == 0
    assert views["robustness"]["gap_vs_clean"] is None
    assert views["identity"]["lo"] is None
    assert views["identity"]["false_accepts"] == 0


def test_no_call_at_all_has_no_worst_group():
    fairness = views_of([])["fairness"]
    assert fairness["worst_group"] is None
    assert fairness["score"] is None
    assert set(fairness["by_group"]) == set(POPULATION.groups)


def test_an_empty_group_is_never_the_worst():
    views = views_of([decision(PROTOCOL, group="us_male")])
    assert views["fairness"]["worst_group"] == "us_male"
    assert views["fairness"]["score"] == 100.0
    assert views["fairness"]["delta_vs_reference"] is None


def test_of_equal_groups_the_first_name_is_the_worst():
    views = views_of(complete_run(PROTOCOL, POPULATION))
    assert views["fairness"]["worst_group"] == "uk_female"


def test_false_accepts_and_rejects_are_counted_in_the_identity_slice_only():
    rows = [
        decision(PROTOCOL, "false_accept", identity="impostor"),
        decision(PROTOCOL, "false_reject", identity="legit"),
        decision(PROTOCOL, "false_reject"),
    ]
    identity = views_of(rows)["identity"]
    assert (identity["n"], identity["false_accepts"], identity["false_rejects"]) == (2, 1, 1)


def test_only_complete_calls_are_in_n():
    rows = [decision(PROTOCOL, state=state) for state in ("excluded", "not_evaluated")]
    rows += [decision(PROTOCOL, state="agent_fault"), decision(PROTOCOL)]
    assert pass_rate(summary(PROTOCOL, rows).cells) == Rate(k=1, n=2)
    assert views_of(rows)["behavior"]["n"] == 2
