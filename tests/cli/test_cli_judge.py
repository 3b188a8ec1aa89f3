"""`judge agreement`, `judge sheet` and `judge ranking` as a user runs them."""

from __future__ import annotations

import json
import re

import pytest
from cli_commands import run_command


@pytest.fixture
def run(scored_twelve):
    return scored_twelve


def test_a_sheet_is_drawn_labelled_and_compared(capsys, run, tmp_path):
    code, out, _ = run_command(capsys, "judge", "sheet", run, "--out", tmp_path / "s", "--n", 5)
    assert code == 0
    assert re.search(r"Sheet [0-9a-f]{16}: 5 calls, \d+ questions", out)
    assert "Keep key.json" in out
    file = tmp_path / "s" / "for_labellers" / "labels.csv"
    filled = re.sub(r",,,\r", ",false,ann,\r", file.read_bytes().decode())
    file.write_bytes(filled.encode())
    code, out, _ = run_command(capsys, "judge", "agreement", run, "--labels", file)
    assert code == 0
    assert "judge author-labels  beside  labeller ann" in re.sub(r" +beside +", "  beside  ", out)
    assert "Held-out half" in out
    code, out, _ = run_command(capsys, "judge", "agreement", run, "--labels", file, "--json")
    assert json.loads(out)["comparisons"][0]["second"] == {"kind": "labeller", "name": "ann"}


def test_two_runs_are_compared(capsys, run):
    code, out, _ = run_command(capsys, "judge", "agreement", run, "--against", run)
    assert code == 0
    assert "Their outcome differs on 0" in out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("agreement", "RUN"), 2, "either --against RUN2 or --labels CSV"),
        (("agreement", "RUN", "--against", "RUN", "--labels", "BAD"), 2, "either --against"),
        (("agreement", "RUN", "--labels", "BAD"), 3, "labels_invalid"),
        (("agreement", "RUN", "--labels", "nowhere.csv"), 2, "does not exist"),
        (("agreement", "RUN", "--against", "nowhere"), 2, "not_a_run"),
        (("agreement", "RUN", "--against", "RUN", "--key", "BAD"), 2, "--key goes with --labels"),
        (("sheet", "RUN", "--out", "RUN"), 2, "out_not_empty"),
        (("ranking", "BAD"), 3, "json_invalid"),
        (("ranking",), 2, "Missing argument"),
    ],
)
def test_what_is_wrong_is_one_line_and_its_exit_code(capsys, run, tmp_path, arguments, code, said):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n", "utf-8")
    named = {"RUN": run, "BAD": bad}
    found, _, err = run_command(capsys, "judge", *(named.get(each, each) for each in arguments))
    assert (found, said in err) == (code, True), err


def test_a_ranking_of_one_run_says_that_it_is_inconclusive(capsys, run):
    code, out, _ = run_command(capsys, "judge", "ranking", run)
    assert code == 0
    assert "judge-free" in out
    assert "inconcl." in out
    code, out, _ = run_command(capsys, "judge", "ranking", run / "record.json", "--json")
    assert len(json.loads(out)["runs"]) == 1
