"""Which folders are bundles, and in what order."""

from __future__ import annotations

import json
import os
import random
import shutil
import tarfile
import zipfile

import polars as pl
import pytest

from inquesto_core.bundle import find, find_bundles, read_bundle
from inquesto_core.errors import StoreError


@pytest.fixture
def archive_of(tmp_path):
    """Pack a folder's content, under `prefix`, into an archive of a kind."""

    def pack(folder, name, prefix=""):
        path = tmp_path / name
        files = sorted(each for each in folder.rglob("*") if each.is_file())
        if name.endswith(".zip"):
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
                for file in files:
                    target.write(file, prefix + file.relative_to(folder).as_posix())
        else:
            with tarfile.open(path, "w" if name.endswith(".tar") else "w:gz") as target:
                for file in files:
                    target.add(file, prefix + file.relative_to(folder).as_posix())
        return path

    return pack


def search(*sources, tmp_path):
    return find_bundles(sources, scratch=tmp_path / "scratch")


def labels(found):
    return [ref.label for ref in found.refs]


def codes(found):
    return [problem.code for problem in found.problems]


def test_a_bundle_folder_is_a_source(write_bundle, tmp_path):
    ref = write_bundle()
    found = search(ref.path, tmp_path=tmp_path)
    assert labels(found) == ["0412"]
    assert found.problems == ()
    assert read_bundle(found.refs[0]).call.call_id == "0412"


def test_a_folder_of_bundles_is_searched_to_any_reasonable_depth(write_bundle, tmp_path):
    for name in ("run/b", "run/a", "run/deep/er/c"):
        write_bundle(name)
    found = search(str(tmp_path / "run"), tmp_path=tmp_path)
    assert labels(found) == ["run/a", "run/b", "run/deep/er/c"]


def test_a_folder_is_searched_to_its_limit_and_says_where_it_stopped(write_bundle, tmp_path):
    inside = "run/" + "/".join(["d"] * find.MAX_DEPTH)
    write_bundle(inside)
    assert labels(search(tmp_path / "run", tmp_path=tmp_path)) == [inside]
    write_bundle(inside.replace("run", "far") + "/d")
    assert codes(search(tmp_path / "far", tmp_path=tmp_path)) == ["too_deep"]


def test_what_lies_inside_a_bundle_belongs_to_it(write_bundle, tmp_path):
    write_bundle("run/a")
    write_bundle("run/a/old")
    assert labels(search(tmp_path / "run", tmp_path=tmp_path)) == ["run/a"]


def test_the_order_of_sources_does_not_matter(write_bundle, tmp_path, archive_of):
    for name in ("one/b", "one/a", "two/c", "three/d"):
        write_bundle(name)
    sources = [tmp_path / "one", tmp_path / "two", archive_of(tmp_path / "three", "x.zip")]
    first = search(*sources, tmp_path=tmp_path)
    for seed in range(4):
        random.Random(seed).shuffle(sources)
        assert search(*sources, tmp_path=tmp_path) == first
    assert labels(first) == sorted(labels(first))


def test_a_folder_that_is_reached_twice_is_one_bundle(write_bundle, tmp_path):
    ref = write_bundle("run/a")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(json.dumps({"bundle": "run/a"}))
    found = search(
        ref.path,
        tmp_path / "run",
        f"{tmp_path}/run/",
        tmp_path / "link",
        manifest,
        tmp_path=tmp_path,
    )
    assert labels(found) == ["a"]


def test_two_folders_of_one_name_are_two_bundles(write_bundle, tmp_path):
    first, second = write_bundle("x/run/a"), write_bundle("y/run/a")
    found = search(tmp_path / "y/run", tmp_path / "x/run", tmp_path=tmp_path)
    assert labels(found) == ["run/a", "run/a"]
    assert [ref.path for ref in found.refs] == [first.path, second.path]


def test_links_are_named_and_not_followed(write_bundle, tmp_path):
    outside = write_bundle("outside")
    write_bundle("run/a")
    (tmp_path / "run" / "b").symlink_to(outside.path)
    (tmp_path / "run" / "c").mkdir()
    (tmp_path / "run" / "c" / "call.json").symlink_to(outside.path / "call.json")
    (tmp_path / "run" / "loop").symlink_to(tmp_path / "run")
    (tmp_path / "run" / "population.json").symlink_to(outside.path / "call.json")
    found = search(tmp_path / "run", tmp_path=tmp_path)
    assert labels(found) == ["run/a"]
    assert {(p.code, p.file) for p in found.problems} == {
        ("link_refused", "run/b"),
        ("link_refused", "run/c/call.json"),
        ("link_refused", "run/loop"),
        ("link_refused", "run/population.json"),
    }
    assert found.populations == ()


def test_a_folder_with_parts_and_no_call_json_is_not_dropped_silently(write_bundle, tmp_path):
    ref = write_bundle("run/a", trace={"calls": []})
    (ref.path / "call.json").unlink()
    assert codes(search(tmp_path / "run", tmp_path=tmp_path)) == ["call_json_missing"]


@pytest.mark.parametrize("kind", ["folder", "zip", "tar", "tgz", "jsonl"])
def test_a_source_without_a_bundle_is_a_problem(tmp_path, archive_of, kind):
    (tmp_path / "empty").mkdir()
    source = tmp_path / "empty"
    if kind == "jsonl":
        source = tmp_path / "empty.jsonl"
        source.write_text("\n\n")
    elif kind != "folder":
        source = archive_of(source, f"empty.{kind}")
    assert codes(search(source, tmp_path=tmp_path)) == ["no_bundles"]


def test_a_source_that_is_not_there_leaves_the_others_alone(write_bundle, tmp_path):
    ref = write_bundle()
    found = search(tmp_path / "nothing", ref.path, tmp_path=tmp_path)
    assert labels(found) == ["0412"]
    assert codes(found) == ["source_missing"]


def test_a_file_of_another_kind_is_no_source(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"")
    (tmp_path / "b.tar.xz").write_bytes(b"")
    os.mkfifo(tmp_path / "c.zip")
    found = search(*(tmp_path / n for n in ("a.wav", "b.tar.xz", "c.zip")), tmp_path=tmp_path)
    assert codes(found) == ["source_unknown"] * 3


@pytest.mark.parametrize(
    "uri", ["s3://bucket/calls", "gs://b/x.zip", "https://example.com/x.zip", "file:///tmp/x"]
)
def test_a_remote_source_is_refused_in_one_line(tmp_path, uri):
    with pytest.raises(StoreError, match=r"is not on this machine|has the scheme") as caught:
        search(uri, tmp_path=tmp_path)
    assert uri in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz", "x.tgz", "X.ZIP"])
@pytest.mark.parametrize("prefix", ["", "calls/", "./"], ids=["bare", "one folder", "dot"])
def test_an_archive_holds_the_same_bundles_as_its_folder(
    write_bundle, tmp_path, archive_of, name, prefix
):
    write_bundle("run/a")
    write_bundle("run/b")
    (tmp_path / "run" / "population.json").write_text("{}")
    archive = archive_of(tmp_path / "run", name if name != "X.ZIP" else "x.zip", prefix)
    if name == "X.ZIP":
        archive = archive.rename(tmp_path / name)
    found = search(archive, tmp_path=tmp_path)
    inner = f"{name}/calls" if prefix == "calls/" else name
    assert labels(found) == [f"{inner}/a", f"{inner}/b"]
    assert found.problems == ()
    assert [read_bundle(ref).problems for ref in found.refs] == [(), ()]
    assert [path.name for path in found.populations] == ["population.json"]


def test_an_archive_of_one_bundle_is_a_source(write_bundle, tmp_path, archive_of):
    archive = archive_of(write_bundle().path, "x.zip", "0412/")
    assert labels(search(archive, tmp_path=tmp_path)) == ["x.zip/0412"]
    archive = archive_of(write_bundle().path, "y.zip")
    assert labels(search(archive, tmp_path=tmp_path)) == ["y.zip"]


def test_an_interrupted_unpacking_is_begun_again(write_bundle, tmp_path, archive_of):
    archive = archive_of(write_bundle("run/a").path.parent, "x.zip")
    first = search(archive, tmp_path=tmp_path)
    root = first.refs[0].path.parent
    (root / "a" / "call.json").write_text("half")
    (root / "left").mkdir()
    (root / "left" / "call.json").write_text("{}")
    second = search(archive, tmp_path=tmp_path)
    assert second == first
    assert read_bundle(second.refs[0]).call.call_id == "0412"


def test_a_link_in_the_place_of_the_unpacked_archive_is_not_written_through(
    write_bundle, tmp_path, archive_of
):
    archive = archive_of(write_bundle("run/a").path.parent, "x.zip")
    place = search(archive, tmp_path=tmp_path).refs[0].path.parent
    shutil.rmtree(place)
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    assert labels(search(archive, tmp_path=tmp_path)) == ["x.zip/a"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_bad_archive_leaves_the_others_alone(write_bundle, tmp_path, archive_of):
    good = archive_of(write_bundle("run/a").path.parent, "good.zip")
    bad = tmp_path / "bad.zip"
    bad.write_bytes(good.read_bytes()[:100])
    found = search(bad, good, tmp_path=tmp_path)
    assert labels(found) == ["good.zip/a"]
    assert [(p.code, p.file) for p in found.problems] == [("archive_unreadable", "bad.zip")]


def test_an_archive_inside_a_source_is_named_and_stays_closed(write_bundle, tmp_path, archive_of):
    write_bundle("run/a")
    inner = archive_of(write_bundle("other/b").path.parent, "inner.zip")
    shutil.move(inner, tmp_path / "run" / "inner.zip")
    outer = archive_of(tmp_path / "run", "outer.zip")
    for source, name in ((tmp_path / "run", "run"), (outer, "outer.zip")):
        found = search(source, tmp_path=tmp_path)
        assert labels(found) == [f"{name}/a"]
        assert [(p.code, p.level) for p in found.problems] == [("nested_archive", "warning")]


def test_a_population_is_taken_from_the_root_of_a_folder_only(write_bundle, tmp_path):
    write_bundle("run/deep/a")
    (tmp_path / "run" / "deep" / "population.json").write_text("{}")
    assert search(tmp_path / "run", tmp_path=tmp_path).populations == ()
    (tmp_path / "run" / "population.json").write_text("{}")
    found = search(tmp_path / "run", tmp_path=tmp_path)
    assert found.populations == (tmp_path / "run" / "population.json",)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_manifest_names_bundles_from_its_own_folder_or_absolutely(write_bundle, tmp_path, kind):
    first, second, third = write_bundle("m/a"), write_bundle("other/b"), write_bundle("other/c")
    rows = ["a", "../other/b", str(third.path)]
    manifest = tmp_path / "m" / f"list.{kind}"
    if kind == "jsonl":
        manifest.write_text("".join(json.dumps({"bundle": r, "note": 1}) + "\n\n" for r in rows))
    else:
        pl.DataFrame({"note": [1, 2, 3], "bundle": rows}).write_parquet(manifest)
    found = search(manifest, tmp_path=tmp_path)
    assert found.problems == ()
    assert {ref.path for ref in found.refs} == {first.path, second.path, third.path}
    assert f"list.{kind}/c" in labels(found)
    assert not any(str(tmp_path) in label for label in labels(found))


def test_a_bad_row_of_a_manifest_is_named_by_its_line(write_bundle, tmp_path):
    ref = write_bundle("a")
    rows = [
        '{"bundle": "a"}',
        "{",
        '["a"]',
        '{"bundle": 7}',
        '{"bundle": ""}',
        '{"bundle": "a\\u0000b"}',
        '{"bundle": "s3://bucket/a"}',
        '{"bundle": "nothing"}',
        '{"bundle": "' + "x" * 70_000 + '"}',
        '{"bundle": "a", "bundle": "b"}',
        '{"bundle": "link"}',
    ]
    (tmp_path / "link").symlink_to(ref.path)
    manifest = tmp_path / "list.jsonl"
    manifest.write_text("\n".join(rows))
    found = search(manifest, tmp_path=tmp_path)
    assert labels(found) == ["list.jsonl/a"]
    assert [(p.pointer.partition(" column")[0], p.code) for p in found.problems] == [
        ("line 2", "manifest_row"),
        ("line 3", "manifest_row"),
        ("line 4", "manifest_row"),
        ("line 5", "manifest_row"),
        ("line 6", "manifest_row"),
        ("line 7", "source_remote"),
        ("line 8", "bundle_missing"),
        ("line 9", "manifest_row"),
        ("line 10", "manifest_row"),
        ("line 11", "link_refused"),
    ]
    assert {p.file for p in found.problems} == {"list.jsonl"}


@pytest.mark.parametrize("content", [b"not parquet", b""], ids=["noise", "empty"])
def test_a_parquet_manifest_that_is_none_is_a_problem(tmp_path, content):
    manifest = tmp_path / "list.parquet"
    manifest.write_bytes(content)
    assert codes(search(manifest, tmp_path=tmp_path)) == ["manifest_unreadable"]


def test_a_parquet_manifest_needs_the_column_bundle(tmp_path):
    pl.DataFrame({"path": ["a"]}).write_parquet(tmp_path / "list.parquet")
    (problem,) = search(tmp_path / "list.parquet", tmp_path=tmp_path).problems
    assert "no column bundle" in problem.found


def test_a_null_row_of_a_parquet_manifest_is_named(write_bundle, tmp_path):
    write_bundle("a")
    pl.DataFrame({"bundle": ["a", None]}).write_parquet(tmp_path / "list.parquet")
    found = search(tmp_path / "list.parquet", tmp_path=tmp_path)
    assert labels(found) == ["list.parquet/a"]
    assert [(p.pointer, p.code) for p in found.problems] == [("row 2", "manifest_row")]


@pytest.mark.parametrize("name", ["\x1b[31mred", "a b", "-rf", "$(reboot)", "é\u202egnp", "x'\""])
def test_a_folder_with_a_hostile_name_is_only_a_name(write_bundle, tmp_path, name):
    write_bundle(f"run/{name}")
    (ref,) = search(tmp_path / "run", tmp_path=tmp_path).refs
    assert ref.label == f"run/{name}"
    assert read_bundle(ref).call.call_id == "0412"


def test_a_folder_that_may_not_be_listed_is_a_problem(write_bundle, tmp_path, monkeypatch):
    write_bundle("run/a")
    shut = tmp_path / "run" / "shut"
    shut.mkdir()
    listing = os.scandir

    def scandir(path):
        if path == shut:
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(find.os, "scandir", scandir)
    found = search(tmp_path / "run", tmp_path=tmp_path)
    assert labels(found) == ["run/a"]
    assert codes(found) == ["folder_unreadable"]
