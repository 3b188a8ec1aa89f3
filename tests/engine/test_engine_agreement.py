"""From a run to a labelling sheet, from its labels to agreement: the files and what is refused."""

from __future__ import annotations

import csv
import json
import shutil

import polars as pl
import pytest

from inquesto_core.engine import load_run, score
from inquesto_core.engine.agreement import (
    agreement_with_labels,
    agreement_with_run,
    ranking_of_runs,
)
from inquesto_core.engine.labelling import write_sheet
from inquesto_core.engine.run_protocol import population_of_run
from inquesto_core.errors import (
    IncomparableError,
    ProtocolError,
    SchemaError,
    StoreError,
)
from inquesto_core.protocol import load_protocol
from inquesto_core.report.agreement_text import agreement_lines

PROTOCOL = load_protocol("inquesto-0.1")


@pytest.fixture(scope="module")
def run(twelve_calls, tmp_path_factory):
    """Return a run of twelve sample calls, judged by their authors' labels."""
    out = tmp_path_factory.mktemp("runs") / "RUN"
    score([twelve_calls], out=out, judge="recorded")
    return out


@pytest.fixture(scope="module")
def other_run(twelve_calls, tmp_path_factory):
    """Return a run of the same calls whose judge reads wrong information in the first."""
    calls = tmp_path_factory.mktemp("other") / "calls"
    shutil.copytree(twelve_calls, calls)
    file = calls / "hasty-001-dup_charge-clean" / "verdicts.json"
    verdicts = json.loads(file.read_bytes())
    verdicts["model"] = "another"
    verdicts["answers"]["wrong_info"] = {"verdict": True, "reason": "Odd.", "turn": 2}
    file.write_text(json.dumps(verdicts), encoding="utf-8")
    out = calls.parent / "RUN2"
    score([calls], out=out, judge="recorded")
    return out


@pytest.fixture(scope="module")
def sheet(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("sheets") / "sheet"
    return write_sheet(run, out=out, n=8, seed=3), out


def answers_of(run):
    verdicts = load_run(run).tables["verdicts"].select("call_id", "question", "verdict")
    return {(call, question): verdict for call, question, verdict in verdicts.rows()}


def write_labels(path, rows, first="item"):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([first, "question", "verdict", "labeller", "note"])
        writer.writerows(rows)
    return path


def sheet_rows(run, sheet, labeller, *, wrong=()):
    known = answers_of(run)
    rows = []
    for item, call, question in sheet.key.items.select("item", "call_id", "question").rows():
        verdict = known[call, question] ^ ((call, question) in wrong)
        rows.append([item, question, str(verdict).lower(), labeller, ""])
    return rows


def questions(comparison, half="both"):
    (scope,) = [scope for scope in comparison.scopes if scope.half == half]
    return {each.question: each for each in scope.questions}


# The population that a run keeps


def test_a_run_keeps_its_population_and_lists_it(run, twelve_calls):
    stored = load_run(run)
    assert (run / "population.json").stat().st_mode & 0o777 == 0o600
    assert "population.json" in {row["file"] for row in stored.manifest["outputs"]}
    assert population_of_run(stored, protocol=PROTOCOL) == stored.population
    assert stored.population.digest == stored.manifest["population"]["digest"]
    original = json.loads((twelve_calls / "population.json").read_bytes())
    assert json.loads((run / "population.json").read_bytes()) == original


def test_a_population_that_was_changed_afterwards_is_refused(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    text = (copy / "population.json").read_text("utf-8").replace("twice", "thrice")
    (copy / "population.json").write_text(text, "utf-8")
    with pytest.raises(StoreError, match=r"population\.json is not .*run_damaged"):
        load_run(copy)


def test_an_older_run_has_to_be_shown_its_population(run, twelve_calls, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    (copy / "population.json").unlink()
    stored = load_run(copy)
    with pytest.raises(ProtocolError, match="run_population_unknown"):
        population_of_run(stored, protocol=PROTOCOL)
    with pytest.raises(ProtocolError, match="run_population_differs"):
        population_of_run(stored, "billing-0.1", protocol=PROTOCOL)
    shown = population_of_run(stored, twelve_calls / "population.json", protocol=PROTOCOL)
    assert shown.digest == stored.manifest["population"]["digest"]


# The sheet


def test_labellers_get_the_page_and_the_csv_and_the_owner_the_key(sheet):
    written, out = sheet
    assert written.for_labellers == out / "for_labellers"
    names = sorted(file.relative_to(out).as_posix() for file in out.rglob("*.*"))
    assert names == ["for_labellers/labels.csv", "for_labellers/sheet.html", "key.json"]
    assert {file.stat().st_mode & 0o777 for file in out.rglob("*.*")} == {0o600}


def test_nothing_that_a_labeller_gets_tells_calls_outcomes_or_answers(run, sheet):
    written, _ = sheet
    shown = "".join(file.read_text("utf-8") for file in written.for_labellers.iterdir())
    stored = load_run(run)
    secret = [
        *stored.decisions["call_id"].drop_nulls(),
        *stored.tables["verdicts"]["reason"].drop_nulls(),
        *(name for name, _, _ in written.key.strata if name.startswith("failed")),
        "author-labels",
        "hasty",
        written.key.secret,
        "checked>",
    ]
    assert [text for text in secret if text in shown] == []


def test_the_sheet_hangs_on_the_calls_and_the_seed_and_on_no_answer(run, other_run, tmp_path):
    page = []
    for at, (name, seed) in enumerate([(run, 3), (run, 3), (run, 4)]):
        write_sheet(name, out=tmp_path / str(at), n=8, seed=seed)
        page.append((tmp_path / str(at) / "for_labellers" / "sheet.html").read_bytes())
    assert page[0] == page[1] != page[2]
    free = [write_sheet(run, out=tmp_path / f"free{at}", n=8).key.sheet for at in (0, 1)]
    assert free[0] != free[1]


def test_a_folder_with_other_files_is_not_written_into(run, sheet):
    with pytest.raises(StoreError, match="out_not_empty"):
        write_sheet(run, out=sheet[1], n=3, seed=1)


def test_every_drawn_call_has_all_its_questions(run, sheet):
    written, _ = sheet
    known = answers_of(run)
    items = written.key.items
    for call in items["call_id"].unique():
        asked = items.filter(pl.col("call_id") == call)["question"].to_list()
        assert sorted(asked) == sorted(name for other, name in known if other == call)


# Labels


def test_labels_that_say_what_the_judge_says_agree_wholly(run, sheet, tmp_path):
    file = write_labels(tmp_path / "ann.csv", sheet_rows(run, sheet[0], "ann"))
    report = agreement_with_labels(run, [file], key=sheet[1] / "key.json")
    (comparison,) = report.comparisons
    assert all(each.agreement.k == each.n for each in questions(comparison).values())
    assert comparison.scopes[0].critical.is_empty()
    assert sum(each.n for each in questions(comparison).values()) == sheet[0].key.items.height
    halves = [
        sum(each.n for each in questions(comparison, half).values())
        for half in ("development", "held-out")
    ]
    assert sum(halves) == sheet[0].key.items.height
    assert min(halves) > 0


def test_two_labellers_stand_beside_the_judge_and_beside_each_other(run, sheet, tmp_path):
    rows = sheet_rows(run, sheet[0], "ann")
    call = sheet[0].key.items.filter(pl.col("question") == "wrong_info")["call_id"][0]
    others = sheet_rows(run, sheet[0], "ben", wrong={(call, "wrong_info")})
    files = [
        write_labels(tmp_path / "ann.csv", rows),
        write_labels(tmp_path / "ben.csv", others),
    ]
    report = agreement_with_labels(run, files, key=sheet[1] / "key.json")
    names = [(each.first.name, each.second.name) for each in report.comparisons]
    assert names == [("author-labels", "ann"), ("author-labels", "ben"), ("ann", "ben")]
    (difference,) = report.comparisons[1].scopes[0].critical.to_dicts()
    assert (difference["call_id"], difference["event"]) == (call, "wrong_info")
    text = "\n".join(agreement_lines(report))
    assert call in text
    assert max(map(len, text.splitlines())) <= 80


def test_labels_by_call_id_need_no_key_and_the_key_is_found_beside_them(run, sheet, tmp_path):
    rows = [
        [call, question, str(verdict).lower(), "ann", ""]
        for (call, question), verdict in answers_of(run).items()
    ]
    by_call = write_labels(tmp_path / "calls.csv", rows, first="call_id")
    (comparison,) = agreement_with_labels(run, [by_call], half="held-out").comparisons
    assert [scope.half for scope in comparison.scopes] == ["held-out"]
    beside = tmp_path / "for_labellers"
    beside.mkdir()
    shutil.copy(sheet[1] / "key.json", tmp_path)
    by_item = write_labels(beside / "ann.csv", sheet_rows(run, sheet[0], "ann"))
    assert agreement_with_labels(run, [by_item]).comparisons


def test_labels_of_a_sheet_hold_for_another_judge_of_the_same_calls(
    run, other_run, sheet, tmp_path
):
    file = write_labels(tmp_path / "ann.csv", sheet_rows(run, sheet[0], "ann"))
    (comparison,) = agreement_with_labels(other_run, [file], key=sheet[1] / "key.json").comparisons
    assert "another" in comparison.first.name


@pytest.mark.parametrize(
    ("row", "first", "said"),
    [
        (["ff" * 8, "wrong_info", "true", "ann", ""], "item", "line 2 names the item"),
        (["nobody", "wrong_info", "true", "ann", ""], "call_id", "line 2 names the call 'nobody'"),
        (
            ["hasty-001-dup_charge-clean", "odd", "true", "ann", ""],
            "call_id",
            "line 2 names the question 'odd'; expected one of context_loss",
        ),
    ],
)
def test_labels_of_what_the_run_lacks_are_refused(run, sheet, tmp_path, row, first, said):
    file = write_labels(tmp_path / "ann.csv", [row], first=first)
    with pytest.raises(SchemaError, match=rf"ann\.csv {said}.*labels_invalid"):
        agreement_with_labels(run, [file], key=sheet[1] / "key.json")


def test_an_item_under_another_question_is_refused(run, sheet, tmp_path):
    rows = sheet_rows(run, sheet[0], "ann")
    rows[0][1] = "context_loss" if rows[0][1] != "context_loss" else "wrong_info"
    file = write_labels(tmp_path / "ann.csv", rows)
    with pytest.raises(SchemaError, match="as the sheet"):
        agreement_with_labels(run, [file], key=sheet[1] / "key.json")


def test_a_key_that_is_not_there_is_asked_for(run, sheet, tmp_path):
    file = write_labels(tmp_path / "ann.csv", sheet_rows(run, sheet[0], "ann"))
    with pytest.raises(IncomparableError, match=r"key_missing"):
        agreement_with_labels(run, [file])


def test_one_labeller_twice_is_refused(run, sheet, tmp_path):
    file = write_labels(tmp_path / "ann.csv", sheet_rows(run, sheet[0], "ann"))
    with pytest.raises(IncomparableError, match="same_labeller"):
        agreement_with_labels(run, [file, file], key=sheet[1] / "key.json")


def test_labels_of_another_text_are_refused(run, sheet, tmp_path):
    key = json.loads((sheet[1] / "key.json").read_bytes())
    key["calls"][0]["shown_sha256"] = "0" * 64
    (tmp_path / "key.json").write_text(json.dumps(key), "utf-8")
    file = write_labels(tmp_path / "ann.csv", sheet_rows(run, sheet[0], "ann"))
    with pytest.raises(IncomparableError, match="calls_differ"):
        agreement_with_labels(run, [file])


# Two judges


def test_two_judges_of_the_same_calls_and_what_it_does_to_the_score(run, other_run):
    (comparison,) = agreement_with_run(run, other_run).comparisons
    wrong = questions(comparison)["wrong_info"]
    assert (wrong.first_only, wrong.second_only, wrong.n) == (0, 1, 12)
    outcomes = comparison.outcomes
    assert outcomes.flipped == ("hasty-001-dup_charge-clean",)
    assert (outcomes.first_only, outcomes.second_only) == (1, 0)
    assert outcomes.first.k - outcomes.second.k == 1
    (row,) = comparison.scopes[0].critical.to_dicts()
    assert (row["event"], row["second_turn"], row["second_reason"]) == ("wrong_info", 2, "Odd.")


def test_a_half_is_compared_alone(run, other_run):
    report = agreement_with_run(run, other_run, half="development")
    (comparison,) = report.comparisons
    assert [scope.half for scope in comparison.scopes] == ["development"]
    assert comparison.outcomes.common < 12
    assert json.loads(json.dumps(report.document()))["comparisons"][0]["outcomes"]["n"] > 0


def test_a_run_without_verdicts_has_no_agreement(run, twelve_calls, tmp_path):
    free = tmp_path / "FREE"
    score([twelve_calls], out=free, judge="none")
    with pytest.raises(IncomparableError, match=r"FREE holds no judge's answer.*no_verdicts"):
        agreement_with_run(run, free)
    assert write_sheet(free, out=tmp_path / "sheet", n=3).key.items.height >= 6


def test_calls_that_are_others_under_their_id_are_refused(run, twelve_calls, tmp_path):
    calls = tmp_path / "calls"
    shutil.copytree(twelve_calls, calls)
    file = calls / "hasty-001-dup_charge-clean" / "transcript.json"
    file.write_text(file.read_text("utf-8").replace("$49", "$50"), "utf-8")
    score([calls], out=tmp_path / "RUN2", judge="recorded")
    with pytest.raises(IncomparableError, match=r"1 of 12 calls .*calls_differ"):
        agreement_with_run(run, tmp_path / "RUN2")


def test_runs_without_a_common_call_are_refused(run, twelve_calls, tmp_path):
    shutil.copy(twelve_calls / "population.json", tmp_path)
    call = json.loads(
        shutil.copytree(
            twelve_calls / "hasty-001-dup_charge-clean", tmp_path / "calls" / "x"
        ).joinpath("call.json").read_bytes()
    )  # fmt: skip
    call["call_id"] = "another"
    (tmp_path / "calls" / "x" / "call.json").write_text(json.dumps(call), "utf-8")
    shutil.copy(twelve_calls / "population.json", tmp_path / "calls")
    score([tmp_path / "calls"], out=tmp_path / "RUN2", judge="recorded")
    with pytest.raises(IncomparableError, match="no_common_calls"):
        agreement_with_run(run, tmp_path / "RUN2")


# Ranking


def test_runs_and_record_files_are_ranked_alike(run, tmp_path):
    by_run, by_file = ranking_of_runs([run]), ranking_of_runs([run / "record.json"])
    assert by_run == by_file
    bad = tmp_path / "odd.json"
    bad.write_text("{}", "utf-8")
    with pytest.raises(SchemaError, match=r"odd\.json"):
        ranking_of_runs([bad])
