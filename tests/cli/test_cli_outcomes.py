"""`recognition`, `extraction` and `outcomes` as a user runs them."""

from __future__ import annotations

import json
import shutil

import pytest
from cli_commands import run_command

from inquesto_core.engine import score

NAME = "hasty-028-impostor-dup_charge-telephone"


@pytest.fixture(scope="module")
def calls(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one") / "calls"
    shutil.copytree(project / "sample_records" / "hasty" / NAME, folder / NAME)
    call = json.loads((folder / NAME / "call.json").read_bytes())
    call["tags"] = {"cost": "0.21", "cost_currency": "usd"}
    (folder / NAME / "call.json").write_text(json.dumps(call), encoding="utf-8")
    shutil.copy(project / "sample_records" / "population.json", folder)
    return folder


@pytest.fixture(scope="module")
def run(calls):
    out = calls.parent / "RUN"
    score([calls], out=out, judge="recorded")
    return out


@pytest.fixture
def reference(calls, tmp_path):
    turns = json.loads((calls / NAME / "transcript.json").read_bytes())["turns"]
    rows = [
        {"call_id": NAME, "speaker": turn["speaker"], "text": turn["text"], "language": "en"}
        for turn in turns
    ]
    caller = next(row for row in rows if row["speaker"] == "caller")
    caller["text"] = f"I am not \x1b[31msure about $7.77. {caller['text']}"
    file = tmp_path / "reference.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_recognition_shows_rates_entities_and_lost_denials(capsys, run, reference):
    code, out, _ = run_command(capsys, "recognition", run, "--reference", reference)
    assert code == 0
    assert "What the platform's transcript lost of the reference: 1 call" in out
    assert "a denial lost" in out
    assert "\x1b" not in out
    code, out, _ = run_command(capsys, "recognition", run, "--reference", reference, "--json")
    (found,) = json.loads(out)
    row = next(
        row for row in found["slices"] if (row["speaker"], row["slice"]) == ("caller", "all")
    )
    assert row["negations_lost"] == 1
    assert row["amount_said"] - row["amount_kept"] == 1


def test_recognition_without_a_second_transcript_says_what_is_missing(capsys, run):
    code, _, err = run_command(capsys, "recognition", run)
    assert code == 2
    assert "no_second_transcript" in err
    assert "--transcriber pinned" in err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "nonsense",
        '{"call_id": "1"}',
        '{"call_id": "1", "speaker": "dog", "text": ""}',
        '{"call_id": "1", "speaker": "caller", "text": 3}',
        '{"call_id": "", "speaker": "caller", "text": ""}',
    ],
)
def test_a_reference_that_is_none_is_refused_with_its_line(capsys, run, tmp_path, text):
    file = tmp_path / "bad.jsonl"
    file.write_text(text, encoding="utf-8")
    code, _, err = run_command(capsys, "recognition", run, "--reference", file)
    assert code == 3
    assert "rows_invalid" in err


@pytest.mark.parametrize(
    ("option", "content"),
    [("--names", b"caf\xff"), ("--negations", b"[1]"), ("--negations", b'{"de": "nicht"}')],
)
def test_names_and_denials_that_are_none_are_refused(
    capsys, run, reference, tmp_path, option, content
):
    file = tmp_path / "given"
    file.write_bytes(content)
    code, _, err = run_command(capsys, "recognition", run, "--reference", reference, option, file)
    assert code == 3
    assert "rows_invalid" in err


def test_outcomes_show_the_first_departure_and_the_cost_that_bundles_carry(capsys, run, calls):
    code, out, _ = run_command(capsys, "outcomes", run, "--bundles", calls)
    assert code == 0
    assert "Where 1 failed calls first depart" in out
    assert "no call passed: 0.21 USD over 1 call," in out
    code, out, _ = run_command(capsys, "outcomes", run, "--json")
    facts = json.loads(out)
    assert facts["first_departures"][0]["first"] == "action"
    assert facts["costs"] == []


def test_explain_shows_the_same_departure(capsys, run):
    code, out, _ = run_command(capsys, "explain", run, NAME)
    assert code == 0
    assert "First departure from what was expected" in out
    code, out, _ = run_command(capsys, "explain", run, NAME, "--json")
    assert json.loads(out)["boundary"]["first"] == "action"


@pytest.mark.parametrize("cost", ["-1", "NaN", "dear", "1e99", ""])
def test_a_cost_that_is_none_is_refused(capsys, run, tmp_path, cost):
    file = tmp_path / "costs.csv"
    file.write_text(f"call_id,cost\n{NAME},{cost}\n", encoding="utf-8")
    code, _, err = run_command(capsys, "outcomes", run, "--costs", file)
    assert code == 3
    assert "rows_invalid" in err


@pytest.fixture
def contract(project):
    return project / "schemas" / "examples" / "extraction_contract.json"


def write(tmp_path, name, *rows):
    file = tmp_path / name
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_extraction_tells_outcomes_apart_and_looks_for_what_is_cited(
    capsys, run, contract, tmp_path
):
    cites = {"amount_usd": {"turn": 0, "quote": "never said"}}
    given = write(
        tmp_path,
        "given.jsonl",
        {"call_id": NAME, "fields": {"amount_usd": 49, "asked_for_a_person": "false"}, "odd": 1}
        | {"support": cites},
    )
    seen = write(
        tmp_path,
        "seen.jsonl",
        {"call_id": NAME, "amount_usd": 49, "asked_for_a_person": False, "next_step": "none"},
        {"call_id": "other", "amount_usd": None},
    )
    command = ("extraction", contract, "--extracted", given, "--reviewed", seen)
    code, out, _ = run_command(capsys, *command, "--run", run)
    assert code == 0
    assert "quote not found 1" in out
    assert 'asked_for_a_person: invalid: "false", reviewed false' in " ".join(out.split())
    code, out, _ = run_command(capsys, *command, "--json")
    outcomes = {
        (row["call_id"], row["field"]): row["outcome"] for row in json.loads(out)["outcomes"]
    }
    assert outcomes == {
        (NAME, "amount_usd"): "right",
        (NAME, "asked_for_a_person"): "invalid",
        (NAME, "next_step"): "missing",
        ("other", "amount_usd"): "no_extraction",
    }


def test_cells_of_a_table_are_read_as_their_fields_type(capsys, contract, tmp_path):
    given, seen = tmp_path / "given.csv", tmp_path / "seen.csv"
    header = "call_id,topics,asked_for_a_person,amount_usd,next_step\n"
    given.write_text(header + "1,refund; card,TRUE,49.00,INFO_NA\n", encoding="utf-8")
    seen.write_text(header + "1,card;refund,true,49,none\n", encoding="utf-8")
    code, out, _ = run_command(
        capsys, "extraction", contract, "--extracted", given, "--reviewed", seen, "--json"
    )
    assert code == 0
    outcomes = {row["field"]: row["outcome"] for row in json.loads(out)["outcomes"]}
    assert outcomes == {
        "topics": "right",
        "asked_for_a_person": "right",
        "amount_usd": "right",
        "next_step": "missing",
    }


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"call_id": "1", "asked_for_a_person": "false"}, "reviewed asked_for_a_person"),
        ({"call_id": "1", "fields": []}, "fields that are no object"),
        ({"call_id": 1}, "has the call_id"),
        ({"call_id": "1", "support": {"nothing": {}}}, "supports"),
        ({"call_id": "1", "support": {"topics": {"turn": "3"}}}, "that is none"),
    ],
)
def test_a_reviewed_record_that_breaks_its_own_contract_is_refused(
    capsys, contract, tmp_path, row, said
):
    file = write(tmp_path, "seen.jsonl", row)
    given = write(tmp_path, "given.jsonl", {"call_id": "1"})
    code, _, err = run_command(
        capsys, "extraction", contract, "--extracted", given, "--reviewed", file
    )
    assert code == 3
    assert "rows_invalid" in err
    assert said in err


@pytest.mark.parametrize(
    "field",
    [
        {"type": "boolean", "allowed": ["yes"]},
        {"type": "string", "tolerance": 1},
        {"type": "number", "tolerance": -1},
        {"type": "thing"},
        {},
    ],
    ids=str,
)
def test_a_contract_that_contradicts_itself_is_refused(capsys, tmp_path, field):
    file = tmp_path / "contract.json"
    file.write_text(json.dumps({"name": "x", "version": "1", "fields": {"f": field}}))
    row = write(tmp_path, "row.jsonl", {"call_id": "1"})
    code, _, err = run_command(capsys, "extraction", file, "--extracted", row, "--reviewed", row)
    assert code == 3
    assert "[schema]" in err
