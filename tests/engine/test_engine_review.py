"""From a run to a review sheet, from its answers to estimates, and failures cut into a set."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

from inquesto_core.engine import score
from inquesto_core.engine.agreement import agreement_with_labels
from inquesto_core.engine.labelling import write_sheet
from inquesto_core.engine.leaderboard import leaderboard
from inquesto_core.engine.regression import check_regressions, cut_failures
from inquesto_core.engine.review import estimate_review, sample
from inquesto_core.engine.stored import load_run
from inquesto_core.errors import BundleError, IncomparableError, SchemaError, StoreError
from inquesto_core.report.agreement_text import agreement_lines

FAILED = "hasty-003-dup_charge-telephone"


@pytest.fixture(scope="module")
def run(twelve_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "RUN"
    score([twelve_calls], out=out, judge="recorded")
    return out


@pytest.fixture(scope="module")
def sheet(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("review") / "sheet"
    return sample(run, out=out, n=6), out


def filled(out, answer, name="ann"):
    """Return the sheet's CSV with answers made of what the run says."""
    key = json.loads((out / "key.json").read_bytes())
    says = {row["item"]: row["run_says"] for row in key["items"]}
    file = out / "for_reviewers" / f"{name}.csv"
    rows = list(
        csv.DictReader((out / "for_reviewers" / "review.csv").read_text("utf-8").splitlines())
    )
    with file.open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        for row in rows:
            verdict = answer(row, says[row["item"]])
            writer.writerow(row | {"verdict": verdict, "labeller": name})
    return file


def as_the_run(_, said):
    return "unsure" if said is None else str(said).lower()


def test_a_sheet_stands_for_the_run_and_holds_every_critical_failure(run, sheet):
    written, _ = sheet
    decisions = load_run(run, tables=()).decisions
    assert sum(calls for calls, _ in written.key.strata.values()) == decisions.height == 12
    assert written.sample == 6
    seen = written.key.items.filter(written.key.items["question"] == "critical_failure")
    true, n = written.key.run_says["critical_failure"]
    assert (int(seen["run_says"].sum()), n) == (true, 12)


def test_a_sheet_tells_reviewers_neither_calls_nor_outcomes(run, sheet):
    _, out = sheet
    assert sorted(path.name for path in out.iterdir()) == ["for_reviewers", "key.json"]
    for file in (out / "for_reviewers").iterdir():
        text = file.read_text("utf-8")
        assert not [name for name in load_run(run, tables=()).decisions["call_id"] if name in text]
        assert "stratum" not in text
        assert "hasty" not in text
    assert "must never happen" in (out / "for_reviewers" / "review.html").read_text("utf-8")


def test_the_same_seed_writes_the_same_sheet_and_another_does_not(run, sheet, tmp_path):
    _, out = sheet
    sample(run, out=tmp_path / "again", n=6, seed=1)
    sample(run, out=tmp_path / "other", n=6, seed=2)
    key = (out / "key.json").read_bytes()
    assert (tmp_path / "again" / "key.json").read_bytes() == key
    assert (tmp_path / "other" / "key.json").read_bytes() != key


def test_who_says_what_the_run_says_gives_its_rate_when_all_is_reviewed(run, tmp_path):
    written = sample(run, out=tmp_path / "all", n=12)
    assert written.apart == 0
    found = estimate_review(filled(tmp_path / "all", as_the_run))
    for each in found.questions:
        assert each.rate.value == pytest.approx(each.run_true / each.run_n)
        assert each.agreement.value == 1
    assert found.critical.confirmed == found.critical.in_sample


def test_calls_apart_move_no_rate(sheet):
    written, out = sheet
    apart = {row["item"] for row in written.key.items.to_dicts() if row["part"] == "apart"}
    assert apart
    one = estimate_review(filled(out, as_the_run, "one"))
    two = estimate_review(
        filled(out, lambda row, said: "" if row["item"] in apart else as_the_run(row, said), "two")
    )
    assert [each.rate for each in one.questions] == [each.rate for each in two.questions]
    assert one.critical.confirmed == two.critical.confirmed + written.apart
    assert two.critical.open_n == written.apart


def test_a_key_is_found_from_within_the_folder_of_the_answers(sheet, monkeypatch):
    _, out = sheet
    file = filled(out, as_the_run, "rel")
    monkeypatch.chdir(file.parent)
    assert estimate_review(file.name).reviewer == "rel"


def test_answers_without_their_key_or_of_another_sheet_are_refused(sheet, tmp_path):
    _, out = sheet
    file = filled(out, as_the_run, "eve")
    alone = tmp_path / "a" / "b" / "eve.csv"
    alone.parent.mkdir(parents=True)
    shutil.copy(file, alone)
    with pytest.raises(IncomparableError, match="key_missing"):
        estimate_review(alone)
    text = file.read_text("utf-8").splitlines()
    alone.write_text("\n".join([text[0], "0123456789abcdef,goal_achieved,true,eve,"]), "utf-8")
    with pytest.raises(SchemaError, match="an item of the review sheet"):
        estimate_review(alone, key=out / "key.json")


def test_a_judges_sheet_key_is_no_key_of_a_review(run, sheet, tmp_path):
    _, out = sheet
    write_sheet(run, out=tmp_path / "judge", n=3, seed=1)
    with pytest.raises(SchemaError, match="schema"):
        estimate_review(filled(out, as_the_run, "zoe"), key=tmp_path / "judge" / "key.json")


@pytest.mark.parametrize("name", ["question", "stratum"])
def test_an_item_of_nothing_that_the_key_lists_is_refused_by_its_place(sheet, tmp_path, name):
    _, out = sheet
    labels = filled(out, as_the_run, "ann")
    key = json.loads((out / "key.json").read_bytes())
    place = next(at for at, item in enumerate(key["items"]) if item[name] is not None)
    key["items"][place][name] = "another"
    (tmp_path / "key.json").write_text(json.dumps(key))
    with pytest.raises(SchemaError, match=rf"/items/{place}/{name} is 'another'.*key_inconsistent"):
        estimate_review(labels, key=tmp_path / "key.json")


def test_an_agent_that_the_run_lacks_is_refused(run, tmp_path):
    with pytest.raises(IncomparableError, match="agent_unknown"):
        sample(run, out=tmp_path / "x", n=4, agent="nobody")
    assert sample(run, out=tmp_path / "y", n=4, agent="hasty").key.agent.startswith("sha256:")


def test_a_failure_is_cut_with_the_files_that_were_scored_and_no_others(
    run, twelve_calls, tmp_path
):
    calls = tmp_path / "calls"
    shutil.copytree(twelve_calls, calls)
    (calls / FAILED / "private-notes.txt").write_text("x", "utf-8")
    held = cut_failures(
        run, [FAILED], sources=[calls], out=tmp_path / "set", reviewer="ann", note="Talks over."
    )
    (failure,) = held.failures
    assert (failure.category, failure.severity) == ("repeated_talk_over", 3)
    assert failure.absent == ("repeated_talk_over",)
    assert failure.fingerprint.startswith("sha256:")
    bundle = tmp_path / "set" / failure.bundle
    assert {path.name for path in bundle.iterdir()} == {name for name, _ in failure.files}
    assert (bundle / "call.json").read_bytes() == (calls / FAILED / "call.json").read_bytes()


def test_a_cut_failure_can_be_scored_again_and_fails_again(run, twelve_calls, tmp_path):
    cut_failures(run, [FAILED], sources=[twelve_calls], out=tmp_path / "set")
    again = score(
        [tmp_path / "set"],
        out=tmp_path / "RUN",
        judge="recorded",
        population=twelve_calls / "population.json",
    )
    (record,) = again.records.values()
    assert record["passed"] == 0
    checked = check_regressions(tmp_path / "set", run, tmp_path / "RUN")
    assert [each.outcome for each in (*checked.a, *checked.b)] == ["fails", "fails"]
    assert checked.b[0].again == ("repeated_talk_over",)


def test_a_set_grows_and_holds_each_failure_once(run, twelve_calls, tmp_path):
    decisions = load_run(run, tables=()).decisions
    failed = decisions.filter(~decisions["passed"])["call_id"].to_list()
    for names in ([failed[0]], [failed[1], failed[0]]):
        held = cut_failures(run, names, sources=[twelve_calls], out=tmp_path / "set")
    assert [each.call_id for each in held.failures] == sorted(failed[:2])
    assert len(list((tmp_path / "set" / "calls").iterdir())) == 2


def test_files_that_are_not_those_that_were_scored_are_refused(run, twelve_calls, tmp_path):
    calls = tmp_path / "calls"
    shutil.copytree(twelve_calls, calls)
    (calls / FAILED / "transcript.json").write_text('{"turns": []}', "utf-8")
    with pytest.raises(IncomparableError, match="calls_differ"):
        cut_failures(run, [FAILED], sources=[calls], out=tmp_path / "set")
    assert not (tmp_path / "set" / "regression.json").exists()
    with pytest.raises(BundleError, match="bundle_missing"):
        cut_failures(run, [FAILED], sources=[calls / "population.json"], out=tmp_path / "set2")


@pytest.mark.parametrize(
    ("name", "code"),
    [("hasty-001-dup_charge-clean", "call_not_failed"), ("nobody", "call_unknown")],
)
def test_what_is_no_failure_of_the_run_is_refused(run, twelve_calls, tmp_path, name, code):
    with pytest.raises((IncomparableError, StoreError), match=code):
        cut_failures(run, [name], sources=[twelve_calls], out=tmp_path / "set")


def test_failures_never_lie_with_a_sample(run, sheet, twelve_calls):
    _, out = sheet
    with pytest.raises(StoreError, match="out_not_empty"):
        cut_failures(run, [FAILED], sources=[twelve_calls], out=out)


def test_a_set_of_another_population_is_not_asked_of_a_run(run, twelve_calls, tmp_path):
    cut_failures(run, [FAILED], sources=[twelve_calls], out=tmp_path / "set")
    file = tmp_path / "set" / "regression.json"
    raw = json.loads(file.read_bytes())
    raw["population"]["digest"] = "f" * 64
    file.write_text(json.dumps(raw), "utf-8")
    with pytest.raises(IncomparableError, match="regression_differs"):
        check_regressions(tmp_path / "set", run)
    with pytest.raises(StoreError, match="not_readable"):
        check_regressions(tmp_path, run)


def test_labels_that_say_what_the_judge_says_correct_nothing_away(run, tmp_path):
    write_sheet(run, out=tmp_path / "s", n=12, seed=1)
    key = json.loads((tmp_path / "s" / "key.json").read_bytes())
    items = {row["item"]: row for row in key["items"]}
    verdicts = load_run(run, tables=("verdicts",)).tables["verdicts"]
    said = {(row["call_id"], row["question"]): row["verdict"] for row in verdicts.to_dicts()}
    file = tmp_path / "s" / "for_labellers" / "labels.csv"
    rows = list(csv.DictReader(file.read_text("utf-8").splitlines()))
    lines = ["item,question,verdict,labeller,note"]
    for row in rows:
        item = items[row["item"]]
        verdict = str(said[item["call_id"], item["question"]]).lower()
        lines.append(f"{row['item']},{row['question']},{verdict},ann,")
    file.write_text("\n".join(lines), "utf-8")
    report = agreement_with_labels(run, [file])
    found = report.comparisons[0].calibration
    assert (found.judge_only, found.labels_only, found.left_out) == (0, 0, 0)
    assert (found.sensitivity.value, found.specificity.value) == (1, 1)
    (corrected,) = found.scores
    assert corrected.value == pytest.approx(corrected.passed / corrected.n)
    text = "\n".join(agreement_lines(report))
    assert "corrected for the judge's errors (an estimate)" in text
    assert "? inconclusive: fewer than 30 labelled calls" in text
    assert report.document()["comparisons"][0]["calibration"]["is_estimate"] is True


def test_a_label_that_changes_an_outcome_counts_against_the_judge(run, tmp_path):
    decisions = load_run(run, tables=()).decisions
    passed = decisions.filter(decisions["passed"])["call_id"].to_list()
    lines = ["call_id,question,verdict,labeller,note"]
    for name in passed[:2]:
        lines.append(f"{name},goal_achieved,{'false' if name == passed[0] else 'true'},ann,")
        lines.append(f"{name},wrong_info,false,ann,")
    file = tmp_path / "ann.csv"
    file.write_text("\n".join(lines), "utf-8")
    found = agreement_with_labels(run, [file]).comparisons[0].calibration
    assert found.judge_only + found.left_out >= 1
    assert found.labels_only == 0


def test_records_are_found_in_files_runs_folders_and_archives_once(run, tmp_path):
    folder = tmp_path / "many"
    (folder / "deep").mkdir(parents=True)
    shutil.copytree(run, folder / "deep" / "RUN")
    shutil.copy(run / "record.json", folder / "one.json")
    (folder / "notes.json").write_text("{}", "utf-8")
    shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
    for sources in ([run], [run / "record.json"], [folder], [tmp_path / "packed.zip", run]):
        board = leaderboard(sources)
        assert len(board.rows) == 1
    assert any("notes.json was passed over" in note for note in leaderboard([folder]).notes)
    with pytest.raises(SchemaError, match="schema"):
        leaderboard([folder / "notes.json"])
    with pytest.raises(IncomparableError, match="no_records"):
        leaderboard([folder / "deep" / "RUN" / "evidence"])


def test_costs_of_a_runs_calls_become_those_of_its_agent(run, tmp_path):
    decisions = load_run(run, tables=()).decisions
    costs = tmp_path / "costs.csv"
    lines = [f"{name},0.50,EUR" for name in decisions["call_id"]]
    costs.write_text("\n".join(["call_id,cost,currency", *lines]), "utf-8")
    (row,) = leaderboard([run], costs=costs).rows
    (cost,) = row.entry.costs
    assert float(cost.total) == 0.5 * row.entry.record["n"]
    assert float(cost.per_pass) == pytest.approx(
        0.5 * row.entry.record["n"] / row.entry.record["passed"]
    )
