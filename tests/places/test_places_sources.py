"""Bundles of a real S3 server: the same record, one at a time, and nothing from elsewhere."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
import zipfile

import polars as pl
import pytest
import s3_server

from inquesto_core import engine
from inquesto_core.bundle import at_hand, find_bundles, read_bundle
from inquesto_core.errors import BundleError

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
S3 = ("s3",)


def search(place, tmp_path):
    return find_bundles([str(place)], scratch=tmp_path / "scratch", allowed=S3)


def codes(found):
    return [problem.code for problem in found.problems]


@pytest.fixture(scope="session")
def local_record(three_calls, tmp_path_factory):
    """Return the record of the three calls, scored on this machine."""
    out = tmp_path_factory.mktemp("local") / "RUN"
    engine.score([three_calls], out=out, workers=0)
    return (out / "record.json").read_bytes()


def test_a_prefix_gives_the_record_of_its_folder_byte_for_byte(
    three_calls, local_record, place, upload, tmp_path, run, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    upload(three_calls, place)
    out = tmp_path / "RUN"
    code, said, told = run("score", place, "--allow-remote", "s3", "--out", out, "--workers", "2")
    assert (code, "Inquesto" in said) == (0, True), told
    assert (out / "record.json").read_bytes() == local_record
    # What was fetched is gone.
    assert [path.name for path in tmp_path.iterdir()] == ["RUN"]
    inside = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert str(tmp_path).encode() not in inside


@pytest.mark.parametrize("kind", ["calls.zip", "calls.tar.gz", "list.jsonl", "list.parquet"])
def test_archives_and_manifests_hold_the_same_bundles(three_calls, place, upload, tmp_path, kind):
    upload(three_calls, place.child("calls"))
    names = sorted(path.name for path in three_calls.iterdir() if path.is_dir())
    rows = [f"calls/{names[0]}", f"./calls/{names[1]}/", f"{place}/calls/{names[2]}"]
    file = tmp_path / kind
    if kind.endswith(".zip"):
        with zipfile.ZipFile(file, "w") as target:
            for path in three_calls.rglob("*"):
                target.write(path, path.relative_to(three_calls))
    elif kind.endswith(".tar.gz"):
        with tarfile.open(file, "w:gz") as target:
            target.add(three_calls, ".")
    elif kind.endswith(".jsonl"):
        file.write_text("\n".join(json.dumps({"bundle": row}) for row in rows))
    else:
        pl.DataFrame({"bundle": rows}).write_parquet(file)
    upload(file, place.child(kind))
    found = search(place.child(kind), tmp_path)
    assert found.problems == ()
    read = []
    for ref in found.refs:
        with at_hand(ref) as here:
            read.append(read_bundle(here).digests)
    local = find_bundles([three_calls], scratch=tmp_path / "scratch").refs
    assert read == [read_bundle(ref).digests for ref in local]
    assert [ref.label.rpartition("/")[2] for ref in found.refs] == names


def test_a_bundle_is_here_only_while_it_is_at_hand(three_calls, place, upload, tmp_path, line):
    upload(three_calls, place)
    found = search(place, tmp_path)
    assert line.count(r"^GET /calls/[^?]+/call\.json|audio") == 0
    assert not any(ref.path.exists() for ref in found.refs)
    ref = found.refs[0]
    original = three_calls / ref.label.rpartition("/")[2]
    with at_hand(ref):
        names = sorted(path.name for path in ref.path.iterdir())
        # truth.json is the synthesiser's, and no part of a bundle.
        assert names == sorted(path.name for path in original.iterdir() if path.stem != "truth")
        assert ref.path.stat().st_mode & 0o077 == 0
    assert not ref.path.exists()


def test_only_what_a_bundle_names_is_fetched(write_call, place, upload, tmp_path, line):
    folder = write_call("a")
    (folder / "notes.txt").write_text("not of the bundle")
    (folder / "old").mkdir()
    (folder / "old" / "call.json").write_text("{}")
    upload(folder, place.child("a"))
    (ref,) = search(place, tmp_path).refs
    with at_hand(ref):
        assert {path.name for path in ref.path.rglob("*")} == {"call.json", "audio.ogg"}
    assert line.count(r"notes|old/call") == 0


@pytest.fixture
def write_call(three_calls, tmp_path):
    """Write a bundle with a call.json and audio."""

    def write(name, **changes):
        folder = tmp_path / "made" / name
        folder.mkdir(parents=True)
        source = next(path for path in sorted(three_calls.iterdir()) if path.is_dir())
        call = json.loads((source / "call.json").read_bytes()) | changes
        shutil.copy(source / "audio.ogg", folder)
        (folder / "call.json").write_text(json.dumps(call))
        return folder

    return write


def test_names_with_odd_signs_are_fetched_as_they_are(write_call, place, upload, tmp_path):
    odd = "ä b%20+c&d=e;'!(1)"
    upload(write_call("a"), place.child(odd))
    (ref,) = search(place, tmp_path).refs
    assert ref.label == f"{place.name}/{odd}"
    with at_hand(ref) as here:
        assert not read_bundle(here).problems
    with at_hand(search(place.child(odd), tmp_path).refs[0]) as here:
        assert not read_bundle(here).problems


@pytest.mark.parametrize("name", ["../../escaped", "/etc/passwd", "a/../../x", "C:\\x", 7, None])
def test_audio_outside_its_bundle_is_not_fetched(write_call, place, upload, tmp_path, line, name):
    upload(write_call("a", audio=[{"file": name}]), place.child("a"))
    (ref,) = search(place, tmp_path).refs
    asked = len(line.asked)
    with at_hand(ref):
        assert [path.name for path in ref.path.rglob("*")] == ["call.json"]
    assert all("/a/" in each for each in line.asked[asked:])


def test_audio_under_names_that_no_folder_could_hold_stops_no_run(
    write_call, place, upload, tmp_path
):
    named = ["audio.ogg", "audio.ogg/inside", "call.json/inside"]
    upload(write_call("a", audio=[{"file": name} for name in named]), place.child("a"))
    (ref,) = search(place, tmp_path).refs
    upload(tmp_path / "made" / "a" / "audio.ogg", place.child("a", "audio.ogg", "inside"))
    upload(tmp_path / "made" / "a" / "audio.ogg", place.child("a", "call.json", "inside"))
    with at_hand(ref) as here:
        problems = read_bundle(here).problems
    assert {problem.code for problem in problems} >= {"audio_missing"}


@pytest.mark.parametrize(
    "row",
    [
        "s3://another-bucket/a",
        "s3://calls/another-prefix/a",
        "gs://calls/a",
        "http://127.0.0.1/a",
        "file:///etc",
        "/etc",
        "../a",
        "a/../../b",
        "a//b",
    ],
)
def test_a_manifest_leads_nowhere_but_below_itself(write_call, place, upload, tmp_path, line, row):
    upload(write_call("a"), place.child("a"))
    manifest = tmp_path / "list.jsonl"
    manifest.write_text(json.dumps({"bundle": "a"}) + "\n" + json.dumps({"bundle": row}))
    upload(manifest, place.child("list.jsonl"))
    found = search(place.child("list.jsonl"), tmp_path)
    assert [ref.label for ref in found.refs] == ["list.jsonl/a"]
    (problem,) = found.problems
    assert (problem.code, problem.pointer) == ("source_remote", "line 2")
    assert all(place.key in each for each in line.asked if each.startswith("HEAD"))


def test_a_manifest_on_this_machine_names_nothing_remote(place, tmp_path, line):
    manifest = tmp_path / "list.jsonl"
    manifest.write_text(json.dumps({"bundle": str(place)}))
    assert codes(search(manifest, tmp_path)) == ["source_remote"]
    assert line.asked == []


def test_a_row_without_a_bundle_is_named(place, upload, tmp_path):
    manifest = tmp_path / "list.jsonl"
    manifest.write_text(json.dumps({"bundle": "nothing"}))
    upload(manifest, place.child("list.jsonl"))
    assert codes(search(place.child("list.jsonl"), tmp_path)) == ["bundle_missing"]


@pytest.mark.parametrize("name", ["", "list.jsonl", "calls.zip", "x.wav"])
def test_a_place_with_nothing_is_said_to_be_empty(place, tmp_path, name):
    found = search(place.child(name), tmp_path)
    assert codes(found) == ["source_missing" if "l" in name else "no_bundles"]


def test_another_bucket_and_wrong_keys_are_one_line_and_bad_input(line, run, tmp_path, monkeypatch):
    out = tmp_path / "RUN"
    for _ in range(2):
        code, _, told = run("score", "s3://another/x", "--allow-remote", "s3", "--out", out)
        assert (code, told.count("\n")) == (3, 1)
        assert "[remote_denied]" in told or "[remote_missing]" in told
        assert s3_server.KEYS["AWS_SECRET_ACCESS_KEY"] not in told
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert not out.exists()


def test_a_server_that_goes_away_ends_the_run_and_takes_no_call_out(
    three_calls, place, upload, tmp_path, run, line
):
    upload(three_calls, place)
    names = sorted(path.name for path in three_calls.iterdir() if path.is_dir())
    line.breaks_at = rf"{names[1]}/audio\.ogg"
    out = tmp_path / "RUN"
    asked = ("score", place, "--allow-remote", "s3", "--out", out, "--workers", "1")
    code, _, told = run(*asked)
    assert code == 5, told
    assert line.is_dead
    assert "[remote_unreachable]" in told.splitlines()[-1], told
    assert not (out / "record.json").exists()
    line.is_dead, line.breaks_at = False, None
    code, _, told = run(*asked)
    assert code in (0, 4), told
    states = engine.load_run(out).decisions
    assert states.filter(pl.col("state") == "scored")["call_id"].to_list() == names


def test_a_server_that_is_not_there_is_one_line(place, run, tmp_path, line):
    line.is_dead = True
    code, said, told = run("validate", place, "--allow-remote", "s3")
    assert code == 3
    assert said.count("[remote_unreachable]") == 1, told


def test_a_bundle_whose_end_does_not_come_is_no_bundle(write_call, place, upload, tmp_path, line):
    upload(write_call("a"), place.child("a"))
    (ref,) = search(place, tmp_path).refs
    line.breaks_at = r"^GET .*audio\.ogg"
    with pytest.raises(BundleError, match="does not answer"), at_hand(ref):
        pass
    assert not ref.path.exists()


def test_an_endpoint_that_is_no_address_is_a_usage_error(place, run, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:hunter2@127.0.0.1:1")
    code, _, told = run("store", "stats", place, "--allow-remote", "s3")
    assert code == 2
    assert "[remote_settings]" in told
    assert "hunter2" not in told
