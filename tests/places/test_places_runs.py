"""Run folders in a bucket: written, explained and re-scored as on a disk."""

from __future__ import annotations

import pytest

from inquesto_core import engine

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
S3 = ("--allow-remote", "s3")


@pytest.fixture(scope="session")
def local_run(three_calls, tmp_path_factory):
    """Return a run of the three calls on this machine."""
    out = tmp_path_factory.mktemp("local") / "RUN"
    engine.score([three_calls], out=out, workers=0)
    return out


@pytest.fixture
def remote_run(local_run, place, upload):
    """Return where a copy of that run lies in the bucket."""
    upload(local_run, place)
    return place


def test_a_run_is_written_to_a_bucket_and_explained_from_there(
    three_calls, local_run, place, tmp_path, run
):
    code, _, told = run("score", three_calls, "--out", place, "--workers", "1", *S3)
    assert code == 0, told
    assert place.child("record.json").read() == (local_run / "record.json").read_bytes()
    assert {name for name, _ in place.files()} == {
        path.relative_to(local_run).as_posix() for path in local_run.rglob("*") if path.is_file()
    }
    call_id = next(path.name for path in sorted(three_calls.iterdir()) if path.is_dir())
    remote = run("explain", place, call_id, *S3)
    assert remote == run("explain", local_run, call_id)
    assert remote[0] == 0


def test_a_run_in_a_bucket_is_rescored_into_another_prefix(remote_run, local_run, run, tmp_path):
    given = ("--protocol", "inquesto-0.1")
    other = remote_run.parent.child(f"{remote_run.name}-again")
    code, said, told = run("rescore", remote_run, *given, "--out", other, *S3)
    assert code == 0, told
    assert f"{other}/{engine.DIFFERENCES_FILE}" in said
    assert run("rescore", local_run, *given, "--out", tmp_path / "again")[0] == 0
    assert other.child("record.json").read() == (tmp_path / "again" / "record.json").read_bytes()


def test_a_run_is_not_rescored_onto_itself(remote_run, run):
    given = ("--protocol", "inquesto-0.1", "--out", f"{remote_run}/")
    code, _, told = run("rescore", remote_run, *given, *S3)
    assert (code, told.count("\n")) == (2, 1)
    assert "[out_is_the_run]" in told


def test_a_prefix_with_other_objects_is_refused_before_anything_is_measured(
    three_calls, place, run
):
    place.child("thesis.doc").write(b"x")
    code, _, told = run("score", three_calls, "--out", place, *S3)
    assert (code, told.count("\n")) == (2, 1)
    assert "[out_not_empty]" in told


def test_a_prefix_without_a_run_says_so(place, run):
    code, _, told = run("explain", place, "a-call", *S3)
    assert (code, told.count("\n")) == (2, 1)
    assert place.name in told
    assert "[not_a_run]" in told


def test_a_bucket_that_goes_away_before_the_run_is_there_is_one_line_and_leaves_no_manifest(
    three_calls, place, run, line
):
    line.breaks_at = r"^PUT .*record\.json"
    code, _, told = run("score", three_calls, "--out", place, "--workers", "1", *S3)
    assert code == 5
    assert sum("[remote_unreachable]" in each for each in told.splitlines()) == 1
    line.breaks_at, line.is_dead = None, False
    assert not place.child("manifest.json").exists()


@pytest.mark.parametrize("command", ["explain", "rescore", "score"])
def test_a_run_is_not_reached_unless_its_scheme_is_allowed(
    command, three_calls, remote_run, run, line
):
    arguments = {
        "explain": ("explain", remote_run, "a-call"),
        "rescore": ("rescore", remote_run, "--protocol", "inquesto-0.1", "--out", "RUN"),
        "score": ("score", three_calls, "--out", remote_run),
    }[command]
    code, _, told = run(*arguments)
    assert (code, told.count("\n")) == (2, 1)
    assert "[remote_not_allowed]" in told
    assert line.asked == []
