from __future__ import annotations

import json
from dataclasses import replace

import pytest
from decision_cases import complete_run, decision, fuzz_run, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core import schema
from inquesto_core.canonical import canonical_bytes
from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score.record import AgentIdentity, JudgeUse, build_record

PROTOCOL = load_protocol("inquesto-0.1")
RELEASED = replace(PROTOCOL, status="released")
POPULATION = load_population("billing-0.1", PROTOCOL)
PINNED = JudgeUse(kind="pinned", sha256=PROTOCOL.instruments.judge.sha256)
NAMES = [event.name for event in PROTOCOL.events]

#: What a decision table cannot say: they come with the run.
FROM_THE_RUN = {"evaluated_at", "population", "definition", "runtime", "config"}
OURS = [
    "judge_free",
    "accounting",
    "timing_only",
    "bounds",
    "timing_uncertainty",
    "diagnostics",
    "provenance",
    "signature",
]


def record_of(table, *, evidence=None, agent=None, **given_options):
    options = {
        "protocol": RELEASED,
        "population": POPULATION,
        "default_population_digest": POPULATION.digest,
        "agent": agent or AgentIdentity(name="A", fingerprint=None, config={}, runtime=None),
        "judge": PINNED,
        "timing_reported": False,
        "call_key": b"key",
        "provenance": {},
        "evaluated_at": None,
        **given_options,
    }
    told = summary(
        options["protocol"],
        table,
        population=options["population"],
        judge_free=options["judge"].kind == "none",
        **(evidence or {}),
    )
    return build_record(told, **options)


def differences(expected, found, path=""):
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            yield from differences(value, found.get(key, "absent"), f"{path}/{key}")
    elif expected != found:
        yield path, expected, found


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 7, 11, 16, 20, 35, 38])
def test_every_field_of_the_references_record_is_reproduced(shared, seed):
    table, expected = fuzz_run(shared, seed, PROTOCOL)
    mine = record_of(
        table,
        agent=AgentIdentity(
            name=expected["agent"],
            fingerprint=expected["agent_fingerprint"],
            config={},
            runtime=None,
        ),
    )
    kept = {key: value for key, value in expected.items() if key not in FROM_THE_RUN}
    assert list(differences(kept, mine)) == []
    assert list(mine) == [*expected, *OURS]
    assert set(expected["failures_by_type"]) == set(mine["failures_by_type"])


@pytest.mark.parametrize("seed", [43, 45])
def test_a_run_with_calls_that_nobody_expected_is_partial(shared, seed):
    table, expected = fuzz_run(shared, seed, PROTOCOL)
    citation = record_of(table)["citation"]
    assert citation == expected["citation"].replace("v0.1", "v0.1 [partial]")


def test_the_definition_is_that_of_the_reference_where_both_state_it(shared):
    expected = fuzz_run(shared, 3, PROTOCOL)[1]["definition"]
    mine = record_of([])["definition"]
    same = ("version", "conditions", "reference_group", "seeds", "severity", "fail_at")
    for key in (*same, "latency_ms"):
        assert mine[key] == expected[key]
    assert mine["groups"] == list(expected["groups"])


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [decision(PROTOCOL)],
        [decision(PROTOCOL, state="excluded", reasons=["mono_recording"])],
        [decision(PROTOCOL, state="not_evaluated", goal=None, call_id=None)],
    ],
    ids=["no call", "one call", "one excluded", "one missing"],
)
@pytest.mark.parametrize("kind", ["pinned", "none"])
def test_a_record_is_what_its_schema_says(rows, kind):
    judge = PINNED if kind == "pinned" else JudgeUse(kind="none")
    record = record_of(rows, judge=judge, evaluated_at="2026-01-31")
    schema.validate(json.loads(canonical_bytes(record)), "record")


drawn_calls = st.lists(
    st.tuples(
        st.sampled_from(["scored", "agent_fault", "excluded", "not_evaluated"]),
        st.booleans(),
        st.sets(st.sampled_from(NAMES), max_size=3),
        st.sampled_from(POPULATION.groups),
        st.sampled_from(POPULATION.conditions),
    ),
    min_size=1,
    max_size=10,
)


def _rows(drawn):
    return [
        decision(
            PROTOCOL,
            *sorted(events),
            call_id=f"{at:04d}",
            state=state,
            goal=goal,
            group=group,
            condition=condition,
            reasons=[] if state == "scored" else ["b", "a"],
            fragile_limits=["talk_over.overlap_ms"] if goal else [],
        )
        for at, (state, goal, events, group, condition) in enumerate(drawn)
    ]


@settings(max_examples=20, deadline=None)
@given(drawn_calls, st.randoms(use_true_random=False))
def test_the_order_of_calls_never_matters(drawn, random):
    rows = _rows(drawn)
    shuffled = random.sample(rows, len(rows))
    assert canonical_bytes(record_of(rows)) == canonical_bytes(record_of(shuffled))
    assert list(record_of(rows)["failures_by_type"]) == list(
        record_of(shuffled)["failures_by_type"]
    )


@settings(max_examples=20, deadline=None)
@given(drawn_calls, st.data())
def test_a_further_event_never_raises_any_score(drawn, data):
    at = data.draw(st.integers(0, len(drawn) - 1))
    event = data.draw(st.sampled_from(NAMES))
    state, goal, events, group, condition = drawn[at]
    worse = [*drawn[:at], (state, goal, events | {event}, group, condition), *drawn[at + 1 :]]
    before, after = record_of(_rows(drawn)), record_of(_rows(worse))
    assert after["n"] == before["n"]
    assert after["passed"] <= before["passed"]
    for name, view in before["views"].items():
        if view["score"] is not None:
            assert after["views"][name]["score"] <= view["score"]
    for name, row in before["severity_sensitivity"].items():
        assert after["severity_sensitivity"][name]["k"] <= row["k"]
    assert after["failures_by_type"].get(event, 0) >= before["failures_by_type"].get(event, 0)


def test_failures_are_sorted_by_count_then_name():
    rows = [decision(PROTOCOL, "wrong_info", "slow_turn", "verbose"), decision(PROTOCOL, "verbose")]
    record = record_of(rows)
    assert list(record["failures_by_type"]) == ["verbose", "slow_turn", "wrong_info"]
    assert record["failures_by_severity"] == {"S1": 2, "S2": 0, "S3": 1, "S4": 1, "S5": 0}


def test_events_of_calls_outside_n_are_not_tallied():
    rows = [decision(PROTOCOL, "wrong_info", state="not_evaluated"), decision(PROTOCOL)]
    assert record_of(rows)["failures_by_type"] == {}


def test_every_call_is_accounted_for_once():
    rows = [
        decision(PROTOCOL, call_id="a"),
        decision(PROTOCOL, call_id="b", state="agent_fault", reasons=["crash"]),
        decision(PROTOCOL, call_id="c", state="excluded", reasons=["mono_recording"]),
        decision(PROTOCOL, call_id="d", state="not_evaluated", reasons=["y", "x"], known_fail=True),
        decision(PROTOCOL, call_id="e", state="not_evaluated", reasons=["x"]),
    ]
    mine = record_of(rows)["accounting"]
    calls = mine.pop("calls")
    assert mine == {
        "expected": 306,
        "total": 5,
        "in_n": 2,
        "scored": 1,
        "agent_fault": 1,
        "excluded_n": 1,
        "excluded": {"mono_recording": 1},
        "not_evaluated_n": 2,
        "not_evaluated": {"x": 2, "y": 1},
        "timing_only_n": 0,
        "timing_only": {},
        "excluded_as_failures": {"score": 33.3, "lo": 6.1, "hi": 79.2, "n": 3, "passed": 1},
    }
    assert sorted(call["state"] for call in calls) == [
        "agent_fault",
        "excluded",
        "not_evaluated",
        "not_evaluated",
    ]
    assert ["x", "y"] in [call["reasons"] for call in calls]


def test_calls_are_named_by_a_hash_that_needs_the_key():
    rows = [decision(PROTOCOL, call_id="patient-17", state="excluded", reasons=["lost_session"])]
    first = record_of(rows)["accounting"]["calls"][0]["call"]
    other = record_of(rows, call_key=b"another")["accounting"]["calls"][0]["call"]
    assert len(first) == 16
    assert first != other
    assert "patient" not in json.dumps(record_of(rows))


def test_a_call_that_was_never_recorded_is_named_by_its_slot():
    rows = complete_run(PROTOCOL, POPULATION)
    rows[5] |= {"call_id": None, "state": "not_evaluated", "passed": None, "reasons": ["missing"]}
    record = record_of(rows)
    (call,) = record["accounting"]["calls"]
    assert call["call"] is None
    assert call["slot"] == [rows[5][key] for key in ("scenario_id", "condition", "group", "trial")]
    assert "[incomplete 305/306; 99.7–100.0 %] [partial]" in record["citation"]


def test_a_complete_run_of_the_default_population_has_the_plain_line():
    record = record_of(complete_run(PROTOCOL, POPULATION))
    assert record["citation"].startswith("Inquesto v0.1 = 100.0% (95% CI 98.8–100.0; n = 306)")
    assert record["population"]["default"] is True
    assert record["accounting"]["calls"] == []


def test_a_population_of_the_same_name_and_other_content_is_not_the_default_one():
    record = record_of(complete_run(PROTOCOL, POPULATION), default_population_digest="0" * 64)
    assert record["citation"].startswith("Inquesto v0.1/billing-0.1 = 100.0%")
    assert record["population"]["default"] is False


@pytest.mark.parametrize("change", ["twice", "stranger", "absent"])
def test_a_run_is_partial_if_its_calls_are_not_those_expected(change):
    rows = complete_run(PROTOCOL, POPULATION)
    if change == "twice":
        rows.append({**rows[0], "call_id": "again"})
    elif change == "stranger":
        rows.append({**rows[0], "call_id": "other", "trial": 1})
    else:
        rows.pop()
    assert "[partial]" in record_of(rows)["citation"]


def test_an_excluded_call_fills_its_slot():
    rows = complete_run(PROTOCOL, POPULATION)
    rows[0] |= {"state": "excluded", "reasons": ["lost_session"], "passed": None}
    citation = record_of(rows)["citation"]
    assert citation.startswith("Inquesto v0.1 [excluded 1/306] = 100.0%")


def test_without_a_judge_the_record_is_that_of_the_judge_free_variant():
    rows = [
        decision(
            PROTOCOL,
            call_id="open",
            state="not_evaluated",
            goal=None,
            goal_judge_free=True,
            passed_judge_free=True,
            judge_free_vacuous=True,
            event_wrong_info=None,
        ),
        decision(
            PROTOCOL,
            "false_accept",
            call_id="served",
            identity="impostor",
            goal_judge_free=False,
            passed_judge_free=False,
            judge_free_vacuous=False,
        ),
    ]
    events = make_table(
        "events", [{"call_id": "served", "type": "false_accept", "source": "trace", "severity": 5}]
    )
    record = record_of(rows, judge=JudgeUse(kind="none"), evidence={"events": events})
    assert (record["score"], record["n"], record["passed"]) == (50.0, 2, 1)
    assert record["judge_free"]["score"] == 50.0
    assert record["judge_free"]["vacuous_n"] == 1
    assert record["views"]["identity"]["false_accepts"] == 1
    assert record["bounds"] is None
    assert "[judge-free]" in record["citation"]


def test_with_a_judge_the_judge_free_variant_stands_beside():
    rows = [decision(PROTOCOL, "wrong_info", passed_judge_free=True)]
    record = record_of(rows)
    assert (record["score"], record["judge_free"]["score"]) == (0.0, 100.0)


def test_open_calls_give_bounds_and_say_so_in_the_line():
    rows = complete_run(PROTOCOL, POPULATION)
    for row in rows[:16]:
        row |= {"state": "not_evaluated", "passed": None, "goal": None, "reasons": ["mono"]}
    record = record_of(rows)
    assert (record["bounds"]["low"], record["bounds"]["high"]) == (94.8, 100.0)
    assert "[incomplete 290/306; 94.8–100.0 %] =" in record["citation"]


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("model", "x" * 80, True),
        ("model", "x" * 81, False),
        ("model", "a\x1b[0m", False),
        ("model", {"name": "x"}, False),
        ("endpointing_ms", 700, True),
        ("temperature", None, True),
        ("system_prompt", "short", False),
    ],
)
def test_only_short_allow_listed_settings_stay_as_they_are(key, value, kept):
    agent = AgentIdentity(name="A", fingerprint="f", config={key: value}, runtime="r")
    config = record_of([], agent=agent)["config"]
    if kept:
        assert config == {key: value}
    else:
        assert config[key].startswith("sha256:")
        assert len(config[key]) == len("sha256:") + 16


def test_a_setting_whose_name_is_free_text_is_a_digest_altogether():
    agent = AgentIdentity(name="A", fingerprint="f", config={"call Mr. X": 1}, runtime="r")
    assert "Mr. X" not in json.dumps(record_of([], agent=agent))


def test_the_agents_identity_and_what_went_in_are_taken_over():
    agent = AgentIdentity(name="B", fingerprint="sha256:1", config={}, runtime="pipecat")
    record = record_of([], agent=agent, provenance={"inputs": "abc"}, evaluated_at="2026-01-31")
    assert (record["agent"], record["agent_fingerprint"]) == ("B", "sha256:1")
    assert (record["runtime"], record["evaluated_at"]) == ("pipecat", "2026-01-31")
    assert record["provenance"] == {"inputs": "abc"}
    assert record["signature"]["text"].startswith("inquesto:0.1|status:released|pop:billing-0.1@")
