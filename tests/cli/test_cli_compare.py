"""`compare` as a user runs it: what is printed, written and returned."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from cli_commands import run_command
from edited_runs import as_written

from inquesto_core.engine import score


@pytest.fixture(scope="module")
def runs(twelve_calls, tmp_path_factory):
    """Return two runs; in the second, a call has an S5 event that it had not."""
    one = tmp_path_factory.mktemp("runs") / "A"
    score([twelve_calls], out=one, judge="recorded")
    two = one.parent / "B"
    shutil.copytree(one, two)
    table = pl.read_parquet(two / "calls.parquet")
    hit = pl.col("call_id") == "hasty-001-dup_charge-clean"
    table = table.with_columns(
        event_false_accept=pl.col("event_false_accept") | hit, passed=pl.col("passed") & ~hit
    )
    table.write_parquet(two / "calls.parquet")
    return one, as_written(two)


def test_a_reader_finds_each_question_with_its_answer(capsys, runs):
    code, out, _ = run_command(capsys, "compare", *runs)
    assert code == 0
    for question in (
        "1. Did task success improve?",
        "2. Did critical errors (S4 or S5) increase?",
        "3. Did the conversation stay responsive?",
        "4. What happened to cost?",
        "5. Which calls moved?",
    ):
        assert question in out
    assert "iep-001-dup_charge clean us_female" in out
    assert "seed 1" in out


def test_a_gate_that_does_not_hold_is_exit_1_with_the_sentence_why(capsys, runs, tmp_path):
    junit, markdown = tmp_path / "ci" / "gates.xml", tmp_path / "gates.md"
    code, out, _ = run_command(
        capsys,
        "compare",
        *runs,
        *("--gates", "recommended", "--junit", junit, "--markdown", markdown),
    )
    assert code == 1
    last = " ".join(out.split())
    assert "B does not replace A: the gate 'no new S5' is not met: 1 call with an S5" in last
    assert 'type="failed"' in junit.read_text(encoding="utf-8")
    assert "**Gate not met: no new S5.**" in markdown.read_text(encoding="utf-8")


def test_gates_that_hold_are_exit_0(capsys, runs, tmp_path):
    gates = tmp_path / "gates.toml"
    gates.write_text('format = 1\n[[gate]]\nrule = "least_paired"\npercent = 90\n')
    code, out, _ = run_command(capsys, "compare", *runs, "--gates", gates)
    assert code == 0
    assert "B may replace A" in out


def test_json_is_alone_on_standard_output(capsys, runs):
    code, out, err = run_command(capsys, "compare", *runs, "--json")
    assert code == 0
    document = json.loads(out)
    assert document["pairs"] == 12
    assert document["gates"] is None
    assert "1. Did task success improve?" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("A",), 2, "same_run_twice"),
        (("A", "nowhere"), 2, "not_a_run"),
        (("A", "B", "--agents", "x", "y"), 2, "agent_unknown"),
        (("A", "B", "--by", "colour"), 2, "column_unknown"),
        (("A", "B", "--by", "group", "--by", "group"), 2, "--by group is given 2 times"),
        (("A", "B", "--by", "config.typo"), 2, "column_unknown"),
        (("A", "B", "--key", "BAD"), 2, "--key goes with --labels"),
        (("A", "B", *("--labels", "BAD") * 3), 2, "one file for both sides"),
        (("A", "B", "--labels", "BAD"), 3, "labels_invalid"),
        (("A", "B", "--junit", "x.xml"), 2, "--gates"),
        (("A", "B", "--gates", "BAD"), 3, "gates_invalid"),
        (("A", "B", "--columns", "BAD"), 3, "columns_invalid"),
        (("A", "B", "--resamples", "10"), 2, "1000<=x"),
    ],
)
def test_what_cannot_be_compared_says_why(capsys, runs, tmp_path, arguments, code, said):
    bad = tmp_path / "bad.toml"
    bad.write_text("nothing", encoding="utf-8")
    given = {"A": runs[0], "B": runs[1], "BAD": bad}
    found, _, err = run_command(capsys, "compare", *(given.get(each, each) for each in arguments))
    assert found == code
    assert said in err
