"""The commands as a user runs them: what is printed where, and the exit codes."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys

import polars as pl
import pytest

from inquesto_core import cli


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_:
        cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return exit_.value.code, printed.out, printed.err


def script(project, name):
    """Return a script of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(name, project / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def first_run(project):
    """Return the module that runs the README's first command."""
    return script(project, "first_run")


@pytest.fixture(scope="module")
def sample_run(first_run, tmp_path_factory):
    """Return what the README's first command prints, and the run that it writes."""
    out = tmp_path_factory.mktemp("samples") / "RUN"
    return first_run.run_first_command(out), out


@pytest.fixture
def few(project, tmp_path):
    """Return a folder with two of the sample calls and their population."""
    folder = tmp_path / "calls"
    folder.mkdir()
    samples = project / "sample_records"
    shutil.copy(samples / "population.json", folder)
    for path in sorted(samples.rglob("*-clean/call.json"))[:2]:
        shutil.copytree(path.parent, folder / path.parent.name)
    return folder


def test_the_readme_shows_what_its_first_command_prints(first_run, sample_run):
    """If it does not any more: `python docs/first_run.py` writes the block anew."""
    printed, _ = sample_run
    assert first_run.readme_block() == first_run.shown(printed)


def test_pages_show_what_the_commands_that_they_name_print(project, sample_run, tmp_path):
    """If they do not any more: `python docs/printed.py` says where, `--write` puts it in."""
    printed = script(project, "printed")
    printed.prepare(tmp_path, sample_run[1])
    assert {block.page.name for block in printed.blocks()} == {"comparing.md", "quickstart.md"}
    assert list(printed.differences(tmp_path)) == []


def test_a_page_that_shows_what_no_command_prints_is_found(project, tmp_path, monkeypatch):
    printed = script(project, "printed")
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    text = "<!-- printed: inquesto-core models list -->\n\n```text\none\n…\nthree\n```\n"
    page.write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(printed, "PROJECT", tmp_path)
    for lines, found in (("one\ntwo\nthree\n", 0), ("one\nthird\n", 1), ("three\none\n", 1)):
        monkeypatch.setattr(printed, "run_command", lambda command, folder, out=lines: out)
        assert len(list(printed.differences(tmp_path))) == found
    monkeypatch.setattr(printed, "run_command", lambda command, folder: "one\nthree\nfour\n")
    printed.write(tmp_path)
    assert page.read_text("utf-8") == text


def test_the_readme_shows_the_picture_of_its_call_as_it_is(project, sample_run):
    """If it is another by now: `python docs/timeline_picture.py` draws it anew."""
    _, out = sample_run
    picture = script(project, "timeline_picture")
    drawn = picture.draw(picture.explained(out))
    assert (project / "docs" / "timeline.svg").read_text("utf-8") == drawn
    readme = (project / "README.md").read_text("utf-8")
    assert re.search(r"!\[Timeline[^]]+\]\(docs/timeline\.svg\)", readme)
    assert picture.CALL in readme


@pytest.mark.parametrize(
    ("call", "because"),
    [
        ("hasty-012-invoice_up-clean", ("slow_turn", "no reply", "goal was not reached")),
        ("steady-023-escalate_refund-babble", ("goal was not reached", "supervisor")),
        ("hasty-006-cancel_sub-telephone", ("the system ended the call while the agent spoke",)),
    ],
)
def test_explain_begins_with_why_a_call_failed(capsys, sample_run, call, because):
    _, out = sample_run
    _, printed, _ = run(capsys, "explain", out, call)
    status, reason = printed.split("\n\n")[1].split("\n", 1)
    assert status.startswith("FAILED")
    for words in because:
        assert words in " ".join(reason.split())


def test_score_prints_the_citation_of_every_agent_after_an_empty_line(sample_run):
    printed, out = sample_run
    assert printed.startswith("Inquesto v0.1/sample-0.1 [draft] [judge: recorded labels]")
    records = sorted((out / "records").glob("*.json")) or [out / "record.json"]
    citations = [line for line in printed.splitlines() if line.startswith("Inquesto v0.1/")]
    assert sorted(citations) == sorted(json.loads(r.read_bytes())["citation"] for r in records)
    assert printed.count("\n\nInquesto v0.1/") == len(records) - 1


def test_explain_says_why_and_an_unknown_call_is_refused_with_those_close(capsys, sample_run):
    _, out = sample_run
    decisions = pl.read_parquet(out / "calls.parquet")
    slow = decisions.filter("event_slow_turn").sort("call_id")["call_id"][0]
    code, printed, _ = run(capsys, "explain", out, slow)
    assert code == 0
    assert "slow_turn" in printed
    assert max(len(line) for line in printed.splitlines()) <= 80
    code, printed, _ = run(capsys, "explain", out, slow, "--json")
    assert json.loads(printed)["decision"]["passed"] is False
    code, _, err = run(capsys, "explain", out, slow[:-2])
    assert code == 2
    assert slow in err


def test_a_run_under_a_protocol_of_ones_own_is_explained_with_its_folder(
    capsys, few, project, tmp_path
):
    folder = tmp_path / "ours"
    shutil.copytree(project / "protocols" / "inquesto-0.1", folder)
    value = json.loads((folder / "protocol.json").read_bytes())
    value["protocol"] = "ours-1"
    (folder / "protocol.json").write_text(json.dumps(value))
    out = tmp_path / "RUN"
    code, _, _ = run(capsys, "score", few, "--out", out, "--protocol", folder, "--workers", "1")
    assert code == 4  # the sample population has more calls than these
    (call_id, _) = sorted(path.parent.name for path in few.glob("*/call.json"))
    code, printed, err = run(capsys, "explain", out, call_id)
    assert (code, printed) == (2, "")
    assert "--protocol" in err and "run_protocol_unknown" in err
    code, printed, _ = run(capsys, "explain", out, call_id, "--protocol", folder)
    assert code == 0
    assert call_id in printed
    code, _, err = run(capsys, "explain", out, call_id, "--protocol", "inquesto-0.1")
    assert code == 2
    assert "run_protocol_differs" in err


def test_json_alone_stands_on_standard_output(capsys, few, tmp_path):
    code, printed, err = run(
        capsys, "score", few, "--out", tmp_path / "RUN", "--workers", "1", "--json"
    )
    assert code == 4
    assert json.loads(printed)["n"] == 2
    assert "Inquesto v0.1" in err


def test_validate_counts_and_names_the_problems(capsys, few, tmp_path):
    code, printed, _ = run(capsys, "validate", few)
    assert (code, printed) == (0, "2 bundles: 0 errors, 0 warnings\n")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "call.json").write_text("{\x1b[31m")
    code, printed, _ = run(capsys, "validate", tmp_path / "bad")
    assert code == 3
    assert "line 1 column 2 (byte 1)" in printed
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
        (("--help",), 0),
        (("score", "--help"), 0),
        (("--version",), 0),
    ],
    ids=str,
)
def test_exit_codes(capsys, arguments, code):
    assert run(capsys, *arguments)[0] == code


@pytest.mark.parametrize("judge", ["pinned", "gguf:model.gguf"])
def test_the_judge_that_is_not_there_is_exit_4(capsys, few, tmp_path, monkeypatch, judge):
    for name in ("HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS", "INQUESTO_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    code, _, err = run(capsys, "score", few, "--out", tmp_path / "RUN", "--judge", judge)
    assert code == 4
    assert "extra_missing" in err or "model_missing" in err
    assert not (tmp_path / "RUN").exists()


def test_a_judge_of_no_known_kind_is_exit_2(capsys, few, tmp_path):
    code, _, err = run(capsys, "score", few, "--out", tmp_path / "RUN", "--judge", "gemma")
    assert code == 2
    assert "judge_unknown" in err


def test_models_are_listed_and_verified(capsys, tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS", "INQUESTO_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    code, out, _ = run(capsys, "models", "list")
    assert code == 0
    assert "judge  gemma-2-9b-it  missing" in out
    code, out, _ = run(capsys, "models", "verify")
    assert code == 4
    assert "vad  ok" in out
    assert "gemma-2-9b-it is not on this machine" in out


def test_without_verdicts_the_hint_names_what_this_version_can_do(capsys, few, tmp_path):
    for path in few.glob("*/verdicts.json"):
        path.unlink()
    _, _, err = run(capsys, "score", few, "--out", tmp_path / "RUN", "--workers", "1")
    assert "scored judge-free; --judge pinned asks the protocol's judge" in err


def test_calls_without_transcript_are_said_to_be_unheard_and_none_is_silent(capsys, few, tmp_path):
    next(few.glob("*/transcript.json")).unlink()
    out = tmp_path / "RUN"
    _, _, err = run(capsys, "score", few, "--out", out, "--workers", "1")
    assert "1 of 2 calls bring no transcript and were not transcribed" in err
    assert "--transcriber pinned hears them" in err
    _, _, err = run(capsys, "score", few, "--out", out, "--workers", "1", "--transcriber", "none")
    assert "transcribed" not in err


def test_a_word_that_is_no_transcriber_is_refused(capsys, few, tmp_path):
    code, _, err = run(capsys, "score", few, "--out", tmp_path / "RUN", "--transcriber", "base")
    assert code == 4
    assert "'base' is no transcriber" in err and "transcriber_unknown" in err


def test_a_run_without_a_usable_bundle_says_nothing_of_verdicts(tmp_path, capsys):
    folder = tmp_path / "calls" / "a"
    folder.mkdir(parents=True)
    (folder / "call.json").write_text("{")
    with pytest.raises(SystemExit):
        cli.main(["score", str(tmp_path / "calls"), "--out", str(tmp_path / "RUN")])
    assert "Traceback" not in capsys.readouterr().err
