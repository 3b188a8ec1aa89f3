"""`sample`, `leaderboard` and `compare --regression` as a user runs them."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from cli_commands import run_command

FAILED = "hasty-003-dup_charge-telephone"


@pytest.fixture
def run(scored_twelve):
    return scored_twelve


def test_a_sample_is_drawn_reviewed_and_estimated(capsys, run, tmp_path):
    code, out, _ = run_command(capsys, "sample", run, "--out", tmp_path / "s", "--n", 8)
    assert code == 0
    assert "8 of 12 calls, drawn with seed 1" in " ".join(out.split())
    assert "each stands for" in out
    file = tmp_path / "s" / "for_reviewers" / "review.csv"
    file.write_bytes(file.read_bytes().replace(b",,,\r", b",true,ann,\r"))
    code, out, _ = run_command(capsys, "sample", "--estimate", file)
    assert code == 0
    assert "estimates for all 12" in " ".join(out.split())
    code, out, err = run_command(capsys, "sample", "--estimate", file, "--json")
    assert json.loads(out)["questions"][0]["rate"]["value"] == 1
    assert "Critical failures that the run sees" in err


def test_failures_are_cut_and_compared_apart_from_the_score(capsys, run, twelve_calls, tmp_path):
    arguments = ("sample", run, "--failures", FAILED, "--source", twelve_calls)
    code, out, _ = run_command(capsys, *arguments, "--out", tmp_path / "set", "--reviewer", "ann")
    assert code == 0
    assert "no repeated_talk_over" in " ".join(out.split())
    shutil.copytree(run, tmp_path / "B")
    code, out, err = run_command(
        capsys, "compare", run, tmp_path / "B", "--regression", tmp_path / "set", "--json"
    )
    assert code == 0
    document = json.loads(out)
    assert document["regression"]["failures"][0]["b"]["outcome"] == "fails"
    assert document["pairs"] == 12
    assert "Regression set (apart" in err


def test_the_cost_of_both_agents_is_compared(capsys, run, tmp_path):
    shutil.copytree(run, tmp_path / "B")
    names = pl.read_parquet(run / "calls.parquet")["call_id"].to_list()
    costs = tmp_path / "costs.csv"
    costs.write_text("\n".join(["call_id,cost", *(f"{name},0.5" for name in names)]), "utf-8")
    code, out, err = run_command(
        capsys, "compare", run, tmp_path / "B", "--costs", costs, "--resamples", 1000, "--json"
    )
    assert code == 0
    (cost,) = json.loads(out)["cost"]
    assert (cost["pairs"], cost["per_call"]["a"], cost["per_call"]["b"]) == (12, 0.5, 0.5)
    assert "a call costs 0.5000 → 0.5000" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("sample",), 2, "name RUN and --out DIR"),
        (("sample", "RUN"), 2, "name RUN and --out DIR"),
        (("sample", "RUN", "--out", "NEW", "stray"), 2, "call ids go with --failures"),
        (("sample", "RUN", "--out", "NEW", "--failures", FAILED), 2, "--source"),
        (("sample", "RUN", "--estimate", "BAD"), 2, "--estimate takes no RUN"),
        (("sample", "--estimate", "BAD"), 2, "key_missing"),
        (("sample", "RUN", "--out", "NEW", "--by", "age"), 2, "column_unknown"),
        (("sample", "RUN", "--out", "RUN"), 2, "out_not_empty"),
        (("sample", "RUN", "--out", "NEW", "--n", "1"), 2, "x>=2"),
        (("leaderboard",), 2, "Missing argument"),
        (("leaderboard", "BAD"), 3, "json_invalid"),
        (("compare", "RUN", "RUN2", "--regression", "HERE"), 3, "not_readable"),
    ],
)
def test_what_is_wrong_is_one_line_and_its_exit_code(capsys, run, tmp_path, arguments, code, said):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n", "utf-8")
    named = {"RUN": run, "BAD": bad, "NEW": tmp_path / "new", "HERE": tmp_path}
    if "RUN2" in arguments:
        named["RUN2"] = tmp_path / "RUN2"
        shutil.copytree(run, named["RUN2"])
    found, _, err = run_command(capsys, *(named.get(each, each) for each in arguments))
    assert (found, said in err) == (code, True), err


def test_a_leaderboard_is_printed_and_written(capsys, run, tmp_path):
    files = [tmp_path / name for name in ("b.md", "b.csv", "b.svg")]
    code, out, err = run_command(
        capsys,
        *("leaderboard", run, "--markdown", files[0], "--csv", files[1], "--figure", files[2]),
        "--json",
    )
    assert code == 0
    assert json.loads(out)["rows"][0]["record"]["agent"] == "hasty"
    assert "audio-only" in err
    assert [file.read_text("utf-8")[:3] for file in files] == ["## ", "age", "<sv"]
