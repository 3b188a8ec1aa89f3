"""The blocks of docs/python.md run, in their order, and give what the page says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "python.md"
CALLS = ("steady/steady-003-dup_charge-clean", "hasty/hasty-003-dup_charge-clean")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))


def test_the_python_page_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    pytest.importorskip("cryptography", reason="the page seals a run: extra sign")
    samples = PROJECT / "sample_records"
    for call in CALLS:
        shutil.copytree(samples / call, tmp_path / "calls" / Path(call).name)
    shutil.copy(samples / "population.json", tmp_path / "calls")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in _blocks("python"):
        capsys.readouterr()
        exec(compile(block, str(PAGE), "exec"), names)  # the page's own text
    assert capsys.readouterr().out == _blocks("text")[-1]
    assert names["result"].has_bad_input is False
    assert len(names["result"].records) == 2
    assert names["checked"].problems == ()
    assert names["failed"]["call_id"].to_list() == ["hasty-003-dup_charge-clean"]
    assert names["again"].changes
    assert names["document"]["pairs"] is not None
    assert names["written"].clips > 0
    assert names["verification"].holds
    assert names["shared"].calls == 2
    assert names["imported"].n_written == 1
