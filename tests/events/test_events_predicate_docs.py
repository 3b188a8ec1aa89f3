"""The examples of docs/predicates.md are what they say they are."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from predicate_calls import one_call, people, values

from inquesto_core import schema
from inquesto_core.cli import main
from inquesto_core.engine import score
from inquesto_core.events.predicates import KINDS, check_predicates
from inquesto_core.events.predicates.evaluate import with_inner
from inquesto_core.protocol import load_population
from inquesto_core.protocol.population import population_document


def blocks(project):
    text = (project / "docs" / "predicates.md").read_text(encoding="utf-8")
    return [json.loads(found) for found in re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)]


@pytest.fixture(scope="module")
def examples(project):
    """Return every predicate of the page, the named ones and the phrases."""
    predicates, named, phrases = [], {}, {}
    for block in blocks(project):
        if isinstance(block, dict) and "kind" not in block:
            named.update(block.get("predicates", {}))
            phrases.update(block.get("phrases", {}))
        else:
            predicates += block if isinstance(block, list) else [block]
    return predicates, named, phrases


def test_there_is_an_example_of_every_kind(examples):
    predicates, named, _ = examples
    shown = {each["kind"] for one in predicates for each in with_inner(one, named)}
    assert shown == set(KINDS)


def test_every_example_is_a_predicate_that_a_population_may_have(examples):
    predicates, named, phrases = examples
    population = replace(load_population("billing-0.1"), predicates=named, phrases=phrases)
    document = population_document(population)
    document["scenarios"][0]["predicates"] = predicates
    schema.validate(json.loads(json.dumps(document)), "population")
    check_predicates(people(*predicates, named=named, phrases=phrases))


def test_every_example_is_evaluated_and_undetermined_where_its_evidence_is_missing(examples):
    predicates, named, phrases = examples
    bare = one_call(tools=None, said=None)
    table = values([bare], *predicates, named=named, phrases=phrases)
    assert table["value"].is_null().all()
    assert table["evidence"].is_not_null().all()
    empty = one_call(state={"before": {"account": {"refunds_usd": []}}, "after": {}})
    table = values([empty], *predicates, named=named, phrases=phrases)
    undetermined = table.filter(table["value"].is_null())["kind"].unique().to_list()
    assert undetermined == ["claim"]


def test_the_first_example_is_what_the_sample_call_shows(project, tmp_path, capsys):
    sample = json.loads((project / "sample_records" / "population.json").read_bytes())
    wanted = "iep-001-dup_charge"
    sample["scenarios"] = [each for each in sample["scenarios"] if each["id"] == wanted]
    shown = next(block for block in blocks(project) if isinstance(block, list) and len(block) == 7)
    sample["scenarios"][0]["predicates"] = shown
    sample["predicates"] = next(
        block["predicates"]
        for block in blocks(project)
        if isinstance(block, dict) and "predicates" in block
    )
    call = project / "sample_records" / "hasty" / "hasty-001-dup_charge-clean"
    group = json.loads((call / "call.json").read_bytes())["group"]
    cell = {"scenarios": [wanted], "conditions": ["clean"], "groups": [group]}
    sample["design"] = {"trials": 1, "cells": [cell]}
    (tmp_path / "population.json").write_text(json.dumps(sample), encoding="utf-8")
    run = score([call], out=tmp_path / "RUN", population=tmp_path / "population.json")
    assert run.decisions["goal"].to_list() == [True]
    with pytest.raises(SystemExit, match="0"):
        main(["explain", str(tmp_path / "RUN"), call.name])
    said = capsys.readouterr().out
    page = (project / "docs" / "predicates.md").read_text(encoding="utf-8")
    printed = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    assert printed in said
