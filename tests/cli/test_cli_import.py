"""``inquesto-core import``: what is printed, and with which exit code."""

from __future__ import annotations

import json

import pytest
from exported import base_audio, write_json
from platform_exports import vapi_call

from inquesto_core.cli import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["import", *map(str, arguments)])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.fixture
def exports(tmp_path):
    folder = tmp_path / "exports"
    write_json(folder / "v.json", vapi_call())
    base_audio(folder / "v-1-stereo.wav")
    return folder


def test_calls_are_imported_and_counted(exports, tmp_path, capsys):
    code, out, err = run(capsys, "vapi", exports, "--out", tmp_path / "out", "--workers", 1)
    assert code == 0
    assert "inferred in 1 call: /audio/0/start_ms = 0: the recording is taken to begin at" in err
    assert 'inferred in 1 call: /ended/by = "caller": endedReason is customer-ended-call' in err
    assert out == f"1 bundle written to {tmp_path / 'out'}, 0 refused\n"
    code, out, _ = run(capsys, "vapi", exports, "--out", tmp_path / "out", "--workers", 1)
    assert (code, out.count("1 there already")) == (0, 1)


def test_a_refused_export_is_one_line_and_exit_code_3(exports, tmp_path, capsys):
    (exports / "broken.json").write_bytes(b"{")
    code, out, err = run(capsys, "vapi", exports, "--out", tmp_path / "out", "--workers", 1)
    assert code == 3
    assert out.endswith("1 refused\n")
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: broken.json line 1 column 2")
    assert line.endswith("[json_invalid]")


def test_json_stands_alone_on_standard_output(exports, tmp_path, capsys):
    code, out, _ = run(capsys, "vapi", exports, "--out", tmp_path / "out", "--workers", 1, "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["bundles"], told["written"], told["problems"]) == (["v-1"], 1, [])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nobody", "x", "--out", "y"), 2),
        (("vapi", ".", "--out", "y", "--recorder", "z"), 2),
        (("vapi", ".", "--out", "y", "--recording-started", "noon"), 3),
        (("vapi", "."), 2),
    ],
    ids=["platform", "recorder", "instant", "no_out"],
)
def test_a_wrong_option_has_its_exit_code(tmp_path, monkeypatch, capsys, arguments, code):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *arguments)[0] == code
    assert list(tmp_path.iterdir()) == []


def test_text_of_an_export_steers_no_terminal(exports, tmp_path, capsys):
    write_json(exports / "v.json", vapi_call(artifact={"messages": [{"role": "\x1b[2J"}]}))
    _, _, err = run(capsys, "vapi", exports, "--out", tmp_path / "out", "--workers", 1)
    assert "\x1b" not in err


def test_a_question_that_calls_share_is_asked_once_and_a_pass_rate_is_explained(tmp_path, capsys):
    for k in (1, 2):
        write_json(tmp_path / "in" / f"{k}.json", vapi_call(f"v-{k}"))
        base_audio(tmp_path / "in" / f"v-{k}-stereo.wav")
    said = ("vapi", tmp_path / "in", "--out", tmp_path / "out", "--workers", 1)
    _, _, err = run(capsys, *said, "--caller-channel", 5)
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: in 2 calls (v-1, v-2): ")
    _, _, err = run(capsys, *said)
    assert "2 calls without a scenario: a pass rate needs --population FILE" in err
