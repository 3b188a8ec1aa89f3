"""A folder is put in a bucket with one file last, and fetched again."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from inquesto_core.errors import StoreError
from inquesto_core.places import fetch_folder, publish_folder

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "RUN"
    (made / "evidence").mkdir(parents=True)
    for name, data in (
        ("record.json", b"{}"),
        ("manifest.json", b"{1}"),
        ("evidence/turns.parquet", b"x" * 300_000),
        ("empty", b""),
    ):
        (made / name).write_bytes(data)
    return made


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_what_was_put_there_is_fetched_whole_or_in_part(folder, place, tmp_path, line):
    publish_folder(folder, place, last="record.json")
    puts = [each for each in line.asked if re.match(r"PUT [^?]+[^/?](\?|$)", each)]
    assert "record.json" in puts[-1]
    assert fetch_folder(place, tmp_path / "all") == tuple(sorted(tree(folder)))
    assert tree(tmp_path / "all") == tree(folder)
    names = ("record.json", "evidence/turns.parquet", "absent")
    assert fetch_folder(place, tmp_path / "some", names=names) == (
        "evidence/turns.parquet",
        "record.json",
    )
    for path in (tmp_path / "all").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


def test_an_earlier_run_is_replaced_whole(folder, place, tmp_path):
    publish_folder(folder, place, last="record.json")
    (folder / "empty").unlink()
    (folder / "record.json").write_bytes(b"{2}")
    publish_folder(folder, place, last="record.json")
    fetch_folder(place, tmp_path / "all")
    assert tree(tmp_path / "all") == tree(folder)


def test_a_prefix_with_other_objects_is_refused(folder, place):
    place.child("thesis.doc").write(b"x")
    with pytest.raises(StoreError, match="holds other objects") as caught:
        publish_folder(folder, place, last="record.json")
    assert caught.value.problem.code == "out_not_empty"


def test_one_that_was_not_put_there_whole_has_no_record_and_can_be_put_again(
    folder, place, tmp_path, line
):
    publish_folder(folder, place, last="record.json")
    (folder / "record.json").write_bytes(b"{2}")
    line.breaks_at = r"^PUT .*turns\.parquet"
    with pytest.raises(StoreError, match="does not answer"):
        publish_folder(folder, place, last="record.json")
    line.breaks_at, line.is_dead = None, False
    assert fetch_folder(place, tmp_path / "half", names=["record.json"]) == ()
    publish_folder(folder, place, last="record.json")
    fetch_folder(place, tmp_path / "all")
    assert tree(tmp_path / "all") == tree(folder)


def test_no_more_is_fetched_than_is_allowed(folder, place, tmp_path):
    publish_folder(folder, place, last="record.json")
    with pytest.raises(StoreError, match="has 300000 bytes") as caught:
        fetch_folder(place, tmp_path / "all", limit=1000)
    assert caught.value.problem.code == "remote_too_large"


def test_a_full_disk_is_said_to_be_this_one(folder, place, tmp_path):
    publish_folder(folder, place, last="record.json")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="room on this disk") as caught:
        fetch_folder(place, tmp_path / "file")
    assert caught.value.problem.code == "scratch_unwritable"


def test_a_process_that_used_a_bucket_ends_quietly(place, project):
    script = (
        "import sys\nfrom inquesto_core.places import locate\n"
        "print(len(list(locate(sys.argv[1], allowed={'s3'}).files())))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(place)],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
