"""Nothing is written inside a run or a bundle, nor over a file that is not ours."""

from __future__ import annotations

import os

import pytest

from inquesto_core.errors import StoreError
from inquesto_core.places import LocalPlace, refuse_inside, require_own, write_text

MARK = "made by us"


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("manifest.json", "calls.parquet"):
        (folder / name).write_text("x")
    return folder


@pytest.mark.parametrize("inside", ["x.svg", "evidence/x", "a/b/c"])
def test_no_output_lies_inside_a_run(run, inside):
    with pytest.raises(StoreError, match=r"lies inside run, which is a run.*\[out_inside\]"):
        refuse_inside(run / inside)


def test_no_output_lies_inside_a_bundle(tmp_path):
    (tmp_path / "c1").mkdir()
    (tmp_path / "c1" / "call.json").write_text("{}")
    with pytest.raises(StoreError, match="a call bundle"):
        refuse_inside(tmp_path / "c1" / "RUN")


def test_a_link_leads_into_a_run_all_the_same(run, tmp_path):
    (tmp_path / "elsewhere").symlink_to(run)
    with pytest.raises(StoreError, match="out_inside"):
        refuse_inside(tmp_path / "elsewhere" / "x.csv")


def test_a_run_itself_and_what_lies_beside_it_may_be_written(run, tmp_path):
    refuse_inside(run)
    refuse_inside(tmp_path / "x.svg")


def test_a_manifest_of_something_else_is_no_run(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    refuse_inside(tmp_path / "RUN")


def test_an_earlier_output_is_written_over_and_another_file_is_not(tmp_path):
    file = tmp_path / "new" / "x.txt"
    write_text(file, f"one, {MARK}", mark=MARK)
    write_text(file, f"two, {MARK}", mark=MARK)
    assert file.read_text() == f"two, {MARK}"
    other = tmp_path / "letter.txt"
    other.write_text("dear you")
    with pytest.raises(StoreError, match=r"letter.txt is there.*\[out_exists\]"):
        write_text(other, f"three, {MARK}", mark=MARK)
    assert other.read_text() == "dear you"


def test_an_empty_file_is_nobodys(tmp_path):
    (tmp_path / "x").touch()
    require_own(tmp_path / "x", mark=MARK)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "store.json")
    with pytest.raises(OSError, match="no regular file"):
        LocalPlace(tmp_path / "store.json").read()
