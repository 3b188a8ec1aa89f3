"""The commands as a user runs them: what is printed where, and the exit codes."""

from __future__ import annotations

import json

import pytest

from inquesto_core import cli


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_:
        cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return exit_.value.code, printed.out, printed.err


def test_score_prints_the_citation_first_and_explain_says_why(capsys, project, tmp_path):
    out = tmp_path / "RUN"
    code, printed, _ = run(
        capsys, "score", project / "sample_records", "--out", out, "--workers", "1"
    )
    assert code == 0
    assert printed.startswith("Inquesto v0.1/sample-0.1 [draft] [judge: recorded labels] = 50.0%")
    code, printed, _ = run(capsys, "explain", out, "03-slow-and-unanswered")
    assert code == 0
    assert "slow_turn" in printed
    assert max(len(line) for line in printed.splitlines()) <= 80
    code, printed, _ = run(capsys, "explain", out, "03-slow-and-unanswered", "--json")
    assert json.loads(printed)["decision"]["passed"] is False
    code, _, err = run(capsys, "explain", out, "03-slow")
    assert code == 2
    assert "03-slow-and-unanswered" in err


def test_json_alone_stands_on_standard_output(capsys, project, tmp_path):
    code, printed, err = run(
        capsys,
        "score",
        project / "sample_records",
        "--out",
        tmp_path / "RUN",
        "--workers",
        "1",
        "--json",
    )
    assert code == 0
    assert json.loads(printed)["n"] == 12
    assert "Inquesto v0.1" in err


def test_validate_counts_and_names_the_problems(capsys, project, tmp_path):
    code, printed, _ = run(capsys, "validate", project / "sample_records")
    assert (code, printed) == (0, "12 bundles: 0 errors, 0 warnings\n")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "call.json").write_text("{\x1b[31m")
    code, printed, _ = run(capsys, "validate", tmp_path)
    assert code == 3
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("protocol", "list"), 0),
        (("protocol", "show", "inquesto-0.1"), 0),
        (("protocol", "diff", "inquesto-0.1", "inquesto-0.1"), 0),
        (("protocol", "show", "inquesto-9"), 2),
        (("score",), 2),
        (("nonsense",), 2),
    ],
)
def test_exit_codes(capsys, arguments, code):
    assert run(capsys, *arguments)[0] == code


def test_the_judge_that_is_not_there_is_exit_4(capsys, project, tmp_path):
    code, _, err = run(
        capsys, "score", project / "sample_records", "--out", tmp_path / "RUN", "--judge", "pinned"
    )
    assert code == 4
    assert "judge_not_available" in err
