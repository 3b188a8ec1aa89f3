"""Files that are not there, outputs where none may lie, and text that steers a terminal."""

from __future__ import annotations

import json

import pytest

from inquesto_core.cli import main, progress
from inquesto_core.cli.output import say


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code, *capsys.readouterr()


@pytest.fixture(scope="module")
def scored(twelve_calls, tmp_path_factory):
    from inquesto_core import engine

    folder = tmp_path_factory.mktemp("outputs") / "RUN"
    engine.score([twelve_calls], out=folder, judge="none")
    return folder


MISSING = {
    "gates": ("compare", "RUN", "RUN", "--gates", "nothere"),
    "columns": ("compare", "RUN", "RUN", "--columns", "nothere"),
    "costs": ("outcomes", "RUN", "--costs", "nothere"),
    "extracted": ("extraction", "nothere", "--extracted", "nothere", "--reviewed", "nothere"),
    "mapping": ("import", "generic", "x", "--mapping", "nothere", "--out", "OUT"),
    "rules": ("import", "vapi", "x", "--rules", "nothere", "--out", "OUT"),
    "source of a report": ("report", "RUN", "--source", "nothere"),
    "source to measure": ("verify", "RUN", "--deep", "--source", "nothere"),
    "key": ("verify", "RUN", "--pub", "nothere"),
}


@pytest.mark.parametrize("arguments", MISSING.values(), ids=MISSING)
def test_a_named_file_that_is_not_there_is_a_usage_error(capsys, scored, tmp_path, arguments):
    names = {"RUN": scored, "OUT": tmp_path / "out"}
    code, _, said = run(capsys, *(names.get(each, each) for each in arguments))
    assert code == 2
    assert "nothere" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [("leaderboard", "EMPTY"), ("compare", "RUN", "RUN", "--regression", "EMPTY")]
)
def test_a_folder_that_is_there_and_holds_nothing_is_bad_input(capsys, scored, tmp_path, arguments):
    (tmp_path / "empty").mkdir()
    names = {"RUN": scored, "EMPTY": tmp_path / "empty"}
    code, _, said = run(capsys, *(names.get(each, each) for each in arguments))
    assert code in {2, 3}
    assert code == (3 if arguments[0] == "leaderboard" else code), said


OUTPUTS = {
    "report": ("report", "RUN", "--out", "RUN/page.html"),
    "figure": ("leaderboard", "RUN", "--figure", "RUN/x.svg"),
    "csv": ("leaderboard", "RUN", "--csv", "RUN/evidence/x.csv"),
    "score": ("score", "CALLS", "--out", "CALL/RUN"),
    "store": ("score", "CALLS", "--out", "OUT", "--store", "CALL/store"),
    "rescore": ("rescore", "RUN", "--protocol", "inquesto-0.2-draft", "--out", "RUN/again"),
    "redact": ("redact", "CALLS", "--out", "CALL/shared"),
    "sheet": ("judge", "sheet", "RUN", "--out", "RUN/sheet"),
    "sample": ("sample", "RUN", "--out", "RUN/sample"),
}


@pytest.mark.parametrize("arguments", OUTPUTS.values(), ids=OUTPUTS)
def test_no_command_writes_into_what_it_reads(capsys, scored, twelve_calls, tmp_path, arguments):
    call = next(path for path in sorted(twelve_calls.iterdir()) if path.is_dir())
    names = {"RUN": scored, "CALLS": twelve_calls, "CALL": call, "OUT": tmp_path / "out"}
    given = [
        "/".join([str(names.get(head, head)), *([rest] if rest else [])])
        for head, _, rest in (each.partition("/") for each in arguments)
    ]
    before = sorted(scored.rglob("*")), sorted(twelve_calls.rglob("*"))
    code, _, said = run(capsys, *given)
    assert code == 2
    assert "[out_inside]" in said
    assert (sorted(scored.rglob("*")), sorted(twelve_calls.rglob("*"))) == before


def test_a_report_over_the_run_is_refused_before_it_is_drawn(capsys, scored):
    code, _, said = run(capsys, "report", scored, "--out", scored)
    assert code == 2
    assert "[out_exists]" in said
    assert "wrote" not in said


def test_files_for_other_programs_are_written_over_their_own_kind_only(capsys, scored, tmp_path):
    letter = tmp_path / "letter.md"
    letter.write_text("dear you")
    assert run(capsys, "leaderboard", scored, "--markdown", letter)[0] == 2
    assert letter.read_text() == "dear you"
    board = [tmp_path / name for name in ("b.md", "b.csv", "b.svg")]
    options = ("--markdown", board[0], "--csv", board[1], "--figure", board[2])
    for _ in range(2):
        assert run(capsys, "leaderboard", scored, *options)[0] == 0


def test_nothing_that_steers_a_terminal_is_printed_and_json_stays_the_same(capsys):
    text = "a\x1b[31m\u202eb\x9b\ud800\tc"
    say(json.dumps([text], ensure_ascii=False))
    printed = capsys.readouterr().out
    assert printed.isascii() and "\x1b" not in printed
    assert json.loads(printed) == [text]


def test_off_a_terminal_lines_of_progress_keep_their_distance(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stage = progress._PlainStage("reduced")
    for done in range(1, 101):
        now[0] += 0.2
        stage.show(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4  # in twenty seconds
    assert lines[-1].startswith("reduced 100 of 100 calls")
