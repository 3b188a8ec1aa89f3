"""Comparing run folders: which agent is which, what is read of them, what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import polars as pl
import pytest
from edited_runs import as_written

from inquesto_core.engine import compare, cut_failures, score
from inquesto_core.errors import IncomparableError, ProtocolError, SchemaError, StoreError
from inquesto_core.evidence import make_table

QUICK = {"resamples": 1_000}
OTHER = "sha256:" + "b" * 64
FIXED = "hasty-003-dup_charge-telephone"


@pytest.fixture(scope="module")
def run(twelve_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "RUN"
    score([twelve_calls], out=out, judge="recorded")
    return out


def renamed(run, out, change):
    """Return a copy of a run as that of another agent, its decisions changed."""
    shutil.copytree(run, out)
    record = json.loads((out / "record.json").read_bytes())
    record |= {"agent": "other", "agent_fingerprint": OTHER}
    (out / "record.json").write_text(json.dumps(record), encoding="utf-8")
    for file in [*out.glob("calls.parquet"), *out.glob("parts/*/calls.parquet")]:
        table = pl.read_parquet(file)
        change(table).with_columns(agent_fingerprint=pl.lit(OTHER)).write_parquet(file)
    return as_written(out)


def fix_and_break(table):
    fixed, broken = pl.col("call_id") == FIXED, pl.col("call_id") == "hasty-001-dup_charge-clean"
    return table.with_columns(
        event_repeated_talk_over=pl.col("event_repeated_talk_over") & ~fixed,
        event_false_accept=pl.col("event_false_accept") | broken,
        passed=(pl.col("passed") | fixed) & ~broken,
    )


@pytest.fixture(scope="module")
def other(run):
    return renamed(run, run.parent / "OTHER", fix_and_break)


@pytest.fixture(scope="module")
def both(run):
    """Return a run folder that holds both agents."""
    out = renamed(run, run.parent / "BOTH", fix_and_break)
    theirs = pl.read_parquet(out / "calls.parquet")
    theirs = theirs.with_columns(pl.col("call_id") + "-b")
    pl.concat([pl.read_parquet(run / "calls.parquet"), theirs]).write_parquet(out / "calls.parquet")
    (out / "records").mkdir()
    shutil.move(out / "record.json", out / "records" / "b.json")
    shutil.copy(run / "record.json", out / "records" / "a.json")
    return as_written(out)


def with_manifest(run, out, change):
    shutil.copytree(run, out)
    manifest = json.loads((out / "manifest.json").read_bytes())
    change(manifest)
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return out


def test_two_runs_are_paired_and_what_moved_stands_with_its_reason(run, other):
    found = compare(run, other, **QUICK)
    counts = found.comparison.outcomes
    assert (counts.broken, counts.fixed, counts.n) == (1, 1, 12)
    assert len(found.document()["moved"]) == 12 - counts.still_passing
    moved = found.moved.filter(pl.col("outcome") != "still_failing").to_dicts()
    assert [(row["outcome"], row["call_id_a"]) for row in moved] == [
        ("broken", "hasty-001-dup_charge-clean"),
        ("fixed", FIXED),
    ]
    assert moved[0]["appeared"] == ["false_accept"]
    assert moved[1]["went"] == ["repeated_talk_over"]
    event = found.details["a"][FIXED]["events"]["repeated_talk_over"]
    assert event["value"] > event["threshold"] == 500
    assert found.comparison.waits_of == "turns"
    assert found.shown["listed"].to_list()[:2] == ["critical", "fixed"]
    kinds = [each.kind for each in found.comparison.waits]
    assert kinds[:2] == ["all", "with_tool"]
    # What is never answered in both has no difference.
    moves = {each.difference.value for w in found.comparison.waits for each in w.quantiles}
    assert moves <= {0, None}


def test_the_figures_of_a_side_are_those_of_its_record(run, other):
    record = json.loads((run / "record.json").read_bytes())
    found = compare(run, other, **QUICK).comparison
    assert found.outcomes.n == record["n"]
    assert found.outcomes.passed_a == record["passed"]
    events = dict(found.events.select("event", "a").rows())
    assert {name: n for name, n in events.items() if n} == record["failures_by_type"]


def test_two_agents_of_one_run_are_compared_by_name_or_fingerprint(run, other, both):
    expected = compare(run, other, **QUICK).comparison.document()
    for names in (("hasty", "other"), ("hasty", OTHER), ("hasty", "bbbbbb")):
        found = compare(both, agents=names, **QUICK).comparison.document()
        assert found["score"] == expected["score"]
    swapped = compare(both, agents=("other", "hasty"), **QUICK).comparison
    assert swapped.score.value == -expected["score"]["difference"]["value"]


@pytest.mark.parametrize(
    ("agents", "code"),
    [
        (None, "agents_ambiguous"),
        (("hasty", "nobody"), "agent_unknown"),
        (("", "hasty"), "agent_unknown"),
        (("hasty", "hasty"), "same_run_twice"),
    ],
)
def test_which_agents_are_meant_has_to_be_clear(both, agents, code):
    with pytest.raises(IncomparableError, match=code):
        compare(both, agents=agents, **QUICK)


def test_a_run_beside_itself_is_refused(run):
    with pytest.raises(IncomparableError, match="same_run_twice"):
        compare(run, run, **QUICK)


def test_the_same_agent_in_another_run_is_its_own_noise_and_said_to_be(run, tmp_path):
    again = tmp_path / "AGAIN"
    shutil.copytree(run, again)
    found = compare(run, again, **QUICK).comparison
    assert found.outcomes.broken == found.outcomes.fixed == 0
    assert any("one agent against itself" in note for note in found.notes)


def differs_in_judge(manifest):
    manifest["evidence"]["judge"]["model"] = "somebody else"


def differs_in_population(manifest):
    manifest["evidence"]["judge"]["kind"] = "none"


@pytest.mark.parametrize("change", [differs_in_judge, differs_in_population])
def test_runs_on_different_ground_are_refused(run, other, tmp_path, change):
    changed = with_manifest(other, tmp_path / "CHANGED", change)
    with pytest.raises(IncomparableError, match="runs_not_comparable"):
        compare(run, changed, **QUICK)


def test_runs_of_a_protocol_that_is_not_here_are_refused(run, other, tmp_path):
    def older(manifest):
        manifest["protocol"]["digest"] = "0" * 64

    sides = [with_manifest(each, tmp_path / each.name, older) for each in (run, other)]
    with pytest.raises(ProtocolError, match="run_protocol_differs"):
        compare(*sides, **QUICK)


def test_no_pair_at_all_is_no_comparison(run, tmp_path):
    def elsewhere(table):
        return table.with_columns(condition=pl.lit("babble"), state=pl.lit("scored"))

    strange = renamed(run, tmp_path / "STRANGE", elsewhere)
    with pytest.raises(IncomparableError, match="no_pairs"):
        compare(run, strange, **QUICK)


def test_slices_come_from_scenarios_calls_configuration_and_the_users_table(run, other, tmp_path):
    table = tmp_path / "languages.csv"
    names = pl.read_parquet(run / "calls.parquet")["scenario_id"].unique().sort()
    rows = [f"{name},{'hi' if at % 2 else 'en'}" for at, name in enumerate(names)]
    table.write_text("scenario_id,language\n" + "\n".join(rows), encoding="utf-8")
    by = ("style", "platform", "day", "config.model", "language")
    found = compare(run, other, by=by, columns=table, **QUICK).comparison
    values = {(each.column, each.value): each.n for each in found.slices}
    assert values[("language", "en")] == values[("language", "hi")] == 6
    assert values[("config.model", "sample-script")] == 12
    assert values[("platform", "sample")] == 12
    assert sum(n for (column, _), n in values.items() if column == "day") == 12
    assert {value for column, value in values if column == "style"} > {"neutral", "fast"}


def test_a_column_that_differs_within_pairs_shows_what_it_became(run, other, tmp_path):
    calls = pl.read_parquet(run / "calls.parquet")["call_id"]
    table = tmp_path / "t.csv"
    table.write_text("call_id,model\n" + "".join(f"{name},x\n" for name in calls), encoding="utf-8")
    found = compare(run, other, by=("model",), columns=table, **QUICK).comparison
    assert [each.value for each in found.slices] == ["x"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name,x\n1,2\n", "neither a column call_id nor scenario_id"),
        ("call_id\n1\n", "no column beside its key"),
        ("call_id,x\n1,2\n1,3\n", "more than once"),
        ("", "holds no row"),
        ("call_id,x,x\n1,2,3\n", "has the column 'x' 2 times"),
        ("call_id,condition\n1,2\n", "has a column 'condition', which every run has"),
        ("call_id,config.model\n1,2\n", "has a column 'config.model', which every run has"),
    ],
)
def test_a_table_that_cannot_be_joined_is_refused(run, other, tmp_path, text, found):
    table = tmp_path / "t.csv"
    table.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match="columns_invalid") as caught:
        compare(run, other, columns=table, **QUICK)
    assert found in caught.value.problem.found


def column_file(tmp_path, key, rows):
    table = tmp_path / "t.csv"
    text = f"{key},language\n" + "".join(f"{name},{value}\n" for name, value in rows)
    table.write_text(text, encoding="utf-8")
    return table


@pytest.mark.parametrize("key", ["call_id", "scenario_id"])
def test_a_column_that_joins_no_call_is_refused(run, other, tmp_path, key):
    table = column_file(tmp_path, key, [("of another run", "en")])
    with pytest.raises(SchemaError, match="columns_invalid") as caught:
        compare(run, other, by=("language",), columns=table, **QUICK)
    assert f"no {key} of the table with a value is among" in caught.value.problem.found


def test_a_column_that_is_empty_for_all_calls_is_refused(run, other, tmp_path):
    names = pl.read_parquet(run / "calls.parquet")["call_id"]
    table = column_file(tmp_path, "call_id", [(name, "") for name in names])
    with pytest.raises(SchemaError, match="says nothing of any paired call"):
        compare(run, other, by=("language",), columns=table, **QUICK)


def test_a_column_that_joins_some_calls_says_how_many_it_does_not(run, other, tmp_path):
    names = pl.read_parquet(run / "calls.parquet")["call_id"].sort()
    table = column_file(tmp_path, "call_id", [(name, "en") for name in names[:5]])
    found = compare(run, other, by=("language",), columns=table, **QUICK).comparison
    note = "the column language says nothing of 7 of 12 paired calls of A, 7 of B"
    assert note in found.notes
    scenarios = pl.read_parquet(run / "calls.parquet")["scenario_id"].unique().sort()
    table = column_file(tmp_path, "scenario_id", [(scenarios[0], "en")])
    found = compare(run, other, by=("language",), columns=table, **QUICK).comparison
    assert any("the column language says nothing of" in note for note in found.notes)


def test_a_key_that_no_configuration_has_is_refused_with_those_that_there_are(run, other):
    with pytest.raises(IncomparableError, match="column_unknown") as caught:
        compare(run, other, by=("config.modell",), **QUICK)
    assert "config.model" in caught.value.problem.expected.split(" of ")[1].split(", ")
    assert not any("config" in note for note in compare(run, other, **QUICK).comparison.notes)


@pytest.mark.parametrize("given", [{"by": ("colour",)}, {"cluster": "colour"}])
def test_a_column_that_nothing_has_is_named_with_those_that_there_are(run, other, given):
    with pytest.raises(IncomparableError, match="column_unknown") as caught:
        compare(run, other, **given, **QUICK)
    assert "platform" in caught.value.problem.expected


def test_speakers_can_be_drawn_again_and_are_too_few(run, other):
    found = compare(run, other, cluster="group", **QUICK).comparison
    assert found.clusters <= 4
    assert found.score.inconclusive == "fewer than 10 clusters"


def test_everything_is_written_for_its_owner_only(run, other, tmp_path):
    out = tmp_path / "out"
    done = compare(run, other, out=out, gates="recommended", **QUICK)
    assert json.loads((out / "compare.json").read_bytes()) == json.loads(
        json.dumps(done.document())
    )
    pairs = pl.read_parquet(out / "pairs.parquet")
    assert set(pairs["outcome"]) == {"broken", "fixed", "still_failing"}
    assert pairs.height == 12 - done.comparison.outcomes.still_passing
    assert out.stat().st_mode & 0o777 == 0o700
    assert (out / "compare.json").stat().st_mode & 0o777 == 0o600
    compare(run, other, out=out, **QUICK)


def test_a_folder_with_other_files_is_not_written_into(run, other, tmp_path):
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="out_not_empty"):
        compare(run, other, out=tmp_path, **QUICK)


def test_gates_that_are_not_there_are_refused(run, other, tmp_path):
    with pytest.raises(SchemaError, match="gates_invalid"):
        compare(run, other, gates=tmp_path / "none.toml", **QUICK)


def test_a_run_in_partitions_gives_the_same_outcomes_and_calls_for_turns(
    run, other, twelve_calls, tmp_path, monkeypatch
):
    monkeypatch.setattr("inquesto_core.engine.partitions.CALLS_A_PART", 4)
    parted = tmp_path / "PARTED"
    score([twelve_calls], out=parted, judge="recorded")
    assert (parted / "parts").is_dir()
    theirs = renamed(parted, tmp_path / "THEIRS", fix_and_break)
    whole = compare(run, other, **QUICK).document()
    found = compare(parted, theirs, out=tmp_path / "out", **QUICK).document()
    for name in ("score", "goal", "severities", "events", "moved", "slices", "effort"):
        assert found[name] == whole[name], name
    assert (found["waits_of"], len(found["waits"])) == ("calls", 1)
    assert (
        pl.read_parquet(tmp_path / "out" / "pairs.parquet").height
        == 12 - found["score"]["still_passing"]
    )
    mixed = compare(run, theirs, **QUICK).document()
    assert mixed["score"] == whole["score"]


def test_runs_without_a_judge_are_compared_as_their_records_read_them(twelve_calls, tmp_path):
    one = tmp_path / "ONE"
    score([twelve_calls], out=one, judge="none")
    two = renamed(one, tmp_path / "TWO", lambda table: table)
    found = compare(one, two, **QUICK).comparison
    record = json.loads((one / "record.json").read_bytes())
    assert found.outcomes.passed_a == found.outcomes.passed_b == record["passed"]
    assert any("judge-free" in note for note in found.notes)


def reporting(run, out, *, more, origin="vapi"):
    """Return a run beside which the platform's stages of each call lie."""
    if not out.exists():
        shutil.copytree(run, out)
    ids = pl.read_parquet(out / "calls.parquet")["call_id"].drop_nulls().sort()
    rows = [
        {
            "call_id": name,
            "stage": "model",
            "position": at,
            "value_ms": 300 + 10 * at + more,
            "origin": origin,
        }
        for name in ids
        for at in range(4)
    ]
    make_table("reported_stages", rows).write_parquet(out / "evidence" / "reported_stages.parquet")
    return as_written(out)


def test_stages_that_platforms_report_are_compared_over_the_same_pairs(run, other, tmp_path):
    one = reporting(run, tmp_path / "ONE", more=0)
    two = reporting(other, tmp_path / "TWO", more=40)
    found = compare(one, two, **QUICK).comparison
    (model,) = found.stages
    assert (model.n_a, model.n_b, model.calls_a, model.sources_b) == (48, 48, 12, ("vapi",))
    assert model.quantiles[0].difference.value == 40
    # Nothing that is measured changes by it.
    measured = compare(run, other, **QUICK).comparison.document()
    document = found.document()
    assert document.pop("reported_stages")[0]["stage"] == "model"
    assert measured.pop("reported_stages") is None
    assert {**document, "a": 0, "b": 0} == {**measured, "a": 0, "b": 0}


def label_file(run, tmp_path, *, flip=(), name="ann"):
    """Return the run's own answers as labels, some goals turned round."""
    verdicts = pl.read_parquet(run / "evidence" / "verdicts.parquet")
    rows = ["call_id,question,verdict,labeller,note"]
    for row in verdicts.sort("call_id", "question").iter_rows(named=True):
        answer = row["verdict"]
        if row["call_id"] in flip and row["question"] == "goal_achieved":
            answer = not answer
        rows.append(f"{row['call_id']},{row['question']},{str(answer).lower()},{name},")
    file = tmp_path / f"{name}.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_labels_correct_both_scores_and_change_none(run, other, tmp_path):
    labels = label_file(run, tmp_path, flip=("hasty-001-dup_charge-clean",))
    found = compare(run, other, labels=[labels], **QUICK).comparison
    corrected = found.corrected
    assert corrected.is_shared
    assert (corrected.a.labeller, corrected.a.calls_of) == ("ann", "a")
    calibration = corrected.a.calibration
    assert (calibration.judge_only, calibration.labels_only) == (1, 0)
    assert (corrected.a.score.passed, corrected.b.score.passed) == (
        found.outcomes.passed_a,
        found.outcomes.passed_b,
    )
    plain = compare(run, other, **QUICK).comparison
    assert replace(found, corrected=None).document() == plain.document()


def test_two_files_of_labels_are_of_a_and_of_b(run, other, tmp_path):
    files = [label_file(run, tmp_path, name=name) for name in ("ann", "bob")]
    found = compare(run, other, labels=files, **QUICK).comparison.corrected
    assert not found.is_shared
    assert [(each.labeller, each.calls_of) for each in (found.a, found.b)] == [
        ("ann", "a"),
        ("bob", "b"),
    ]


def test_labels_of_neither_run_and_runs_without_a_judge_are_refused(
    run, other, twelve_calls, tmp_path
):
    labels = tmp_path / "x.csv"
    labels.write_text(
        "call_id,question,verdict,labeller,note\nnobody,goal_achieved,true,ann,\n",
        encoding="utf-8",
    )
    with pytest.raises(SchemaError, match="labels_invalid"):
        compare(run, other, labels=[labels], **QUICK)
    one = tmp_path / "FREE"
    score([twelve_calls], out=one, judge="none")
    two = renamed(one, tmp_path / "FREE2", lambda table: table)
    with pytest.raises(IncomparableError, match="no_verdicts"):
        compare(one, two, labels=[label_file(run, tmp_path)], **QUICK)


def test_a_regression_set_is_in_the_comparison_and_a_gate_can_read_it(
    run, other, twelve_calls, tmp_path
):
    folder = tmp_path / "set"
    cut_failures(run, [FIXED], sources=[twelve_calls], out=folder)
    gates = tmp_path / "gates.toml"
    gates.write_text('format = 1\n[[gate]]\nrule = "regressions_hold"\n', encoding="utf-8")
    done = compare(run, other, regression=folder, gates=gates, **QUICK)
    ((one, two),) = done.comparison.regressions
    assert (one.outcome, two.outcome) == ("fails", "holds")
    assert done.gates.first_failed is None
    (told,) = done.document()["regression"]["failures"]
    assert (told["a"]["outcome"], told["b"]["outcome"]) == ("fails", "holds")
    back = compare(other, run, regression=folder, gates=gates, **QUICK)
    assert "there again 1" in back.gates.first_failed.sentence
