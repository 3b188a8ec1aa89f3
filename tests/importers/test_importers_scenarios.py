"""Which scenario a real call belongs to: by rules, by what the user says, or none."""

from __future__ import annotations

import json

import pytest
from exported import base_audio, only, run_import, write_json
from platform_exports import (
    vapi_call,
)

from inquesto_core.errors import ProtocolError, SchemaError
from inquesto_core.importers import import_options


def rules(tmp_path, *given):
    return write_json(tmp_path / "rules.json", {"rules": list(given)})


@pytest.fixture
def population(project, tmp_path):
    """Return the sample calls' population file, and a place in it."""
    path = project / "sample_records" / "population.json"
    value = json.loads(path.read_bytes())
    place = {
        "scenario_id": value["scenarios"][0]["id"],
        "condition": value["conditions"][0],
        "group": value["groups"][0],
    }
    return path, value, place


@pytest.mark.parametrize(
    "when",
    [
        {"call_id": "v-1"},
        {"agent": "Billing agent"},
        {"agent_id": ["a-0", "a-1"]},
        {"number": "+15550100"},
        {"direction": "inbound"},
        {"tag.case": "refund"},
        {},
    ],
    ids=["id", "agent", "agent_id", "number", "direction", "tag", "all"],
)
def test_a_rule_attaches_a_scenario_by_what_the_export_says(tmp_path, population, when):
    path, value, place = population
    bundle = only(
        tmp_path,
        "vapi",
        vapi_call(),
        "v-1-stereo.wav",
        population=path,
        rules=rules(tmp_path, {"when": {"tag.case": "other"}}, {"when": when, **place}),
    )
    call = bundle.call
    assert call.population == value["name"]
    assert {name: getattr(call, name) for name in place} == place
    assert any(each.how == "rule 1 of --rules" for each in call.inferred)
    assert (tmp_path / "out" / "population.json").read_bytes() == path.read_bytes()
    assert "+15550100" not in (bundle.root / "call.json").read_text()


def test_a_rule_can_take_the_scenario_from_a_tag(tmp_path, population):
    path, _, place = population
    call = vapi_call(metadata={"scenario": place["scenario_id"], "trial": 2})
    rule = {
        "when": {},
        **place,
        "scenario_id": {"from": "tag.scenario"},
        "trial": {"from": "tag.trial"},
    }
    said = {"population": path, "rules": rules(tmp_path, rule)}
    bundle = only(tmp_path, "vapi", call, "v-1-stereo.wav", **said)
    assert (bundle.call.scenario_id, bundle.call.trial) == (place["scenario_id"], 2)


def test_a_call_that_no_rule_matches_has_no_scenario(tmp_path, population):
    path, _, place = population
    said = {"population": path, "rules": rules(tmp_path, {"when": {"call_id": "other"}, **place})}
    bundle = only(tmp_path, "vapi", vapi_call(), "v-1-stereo.wav", **said)
    assert bundle.call.scenario_id is None


def test_two_rules_that_disagree_are_not_chosen_between(tmp_path, population):
    path, value, place = population
    other = {**place, "scenario_id": value["scenarios"][1]["id"]}
    given = rules(tmp_path, {"when": {}, **place}, {"when": {"call_id": "v-1"}, **other})
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    done = run_import("vapi", source, tmp_path / "out", population=path, rules=given)
    (problem,) = done.problems
    assert (problem.code, problem.call_id) == ("scenario_ambiguous", "v-1")


@pytest.mark.parametrize("field", ["scenario_id", "condition", "group"])
def test_a_place_that_the_population_lacks_is_refused_with_its_option(tmp_path, population, field):
    path, _, place = population
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    said = {**place, field: "nowhere"}
    done = run_import(
        "vapi",
        source,
        tmp_path / "out",
        population=path,
        scenario=said["scenario_id"],
        condition=said["condition"],
        group=said["group"],
    )
    (problem,) = done.problems
    assert problem.code == "scenario_unmatched"
    assert f"--{field.removesuffix('_id')}" in problem.remedy


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"rules": [{"scenario_id": "x"}]}, "/rules/0"),
        ({"rules": [{"when": {"call_id": 7}}]}, "/rules/0/when/call_id"),
        ({"rules": [{"when": {}, "trial": -1}]}, "/rules/0/trial"),
        ({"rules": [{"when": {}, "scenario_id": {"of": "x"}}]}, "/rules/0/scenario_id"),
    ],
    ids=["no_when", "number", "trial", "from"],
)
def test_rules_that_are_none_are_refused_by_pointer(tmp_path, value, pointer):
    path = write_json(tmp_path / "rules.json", value)
    with pytest.raises(SchemaError, match=f"rules.json {pointer} "):
        import_options(rules=path)


def test_a_population_that_nobody_knows_is_refused():
    with pytest.raises(ProtocolError, match="population_unknown"):
        import_options(population="nowhere")
