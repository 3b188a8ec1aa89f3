"""Which locations may be named, and what of them is never repeated."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from inquesto_core.errors import StoreError
from inquesto_core.places import LocalPlace, RemotePlace, allowed_schemes, locate, place_of


def refused(text, allowed=("s3", "abfs")):
    with pytest.raises(StoreError, match=r"\[\w+\]$") as caught:
        locate(text, allowed=allowed)
    message = str(caught.value)
    assert "\n" not in message
    return caught.value.problem.code, message


def test_a_path_is_local_whatever_is_allowed():
    assert locate("a/b") == Path("a/b")
    assert locate("C:", allowed={"s3"}) == Path("C:")
    assert isinstance(place_of(Path("a")), LocalPlace)


def test_a_location_that_is_no_path_at_all_is_looked_at_all_the_same():
    assert locate("s3://b/" + "x" * 250, allowed={"s3"}).name == "x" * 250
    assert refused("s3://b/" + "x" * 5000)[0] == "remote_name"
    assert refused("s3://b/a\0b")[0] == "remote_name"


def test_an_allowed_uri_is_a_place_that_goes_to_other_processes_whole():
    place = locate("S3://bucket/a b%20c/é+#1/", allowed={"s3"})
    assert place == RemotePlace(scheme="s3", authority="bucket", key="a b%20c/é+#1")
    assert str(place) == "s3://bucket/a b%20c/é+#1"
    assert (place.name, place.parent.key, place.child("x", "y").key[-4:]) == (
        "é+#1",
        "a b%20c",
        "/x/y",
    )
    assert pickle.loads(pickle.dumps(place)) == place
    assert locate("s3://bucket", allowed={"s3"}).name == "bucket"
    # A path object has folded the slashes.
    assert locate(Path("s3://bucket/a"), allowed={"s3"}).key == "a"


@pytest.mark.parametrize("uri", ["s3://bucket/a", "S3://bucket/a", "s3:/bucket/a"])
def test_a_scheme_that_is_not_allowed_is_refused_with_what_to_add(uri):
    code, message = refused(uri, allowed=())
    assert code == "remote_not_allowed"
    assert "--allow-remote s3" in message


@pytest.mark.parametrize("uri", ["https://host/x.zip", "file:///etc/passwd", "ftp://h/x", "s4://b"])
def test_a_scheme_that_nothing_opens_is_refused_even_when_it_is_asked_for(uri):
    assert refused(uri, allowed=(uri.partition(":")[0],))[0] == "scheme_unknown"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://KEY:hunter2@bucket/a",
        "s3://hunter2@bucket/a",
        "s3://bucket/a?secret_key=hunter2",
        "s3://bucket?secret_key=hunter2",
        "s3://KEY:hunter2/with/slashes@bucket/a",
        "abfs://user:hunter2@account.example/a",
        "abfs://box@account.example/a?sig=hunter2",
    ],
)
@pytest.mark.parametrize("allowed", [(), ("s3", "abfs")], ids=["forbidden", "allowed"])
def test_a_secret_in_a_location_is_refused_and_never_repeated(uri, allowed):
    code, message = refused(uri, allowed=allowed)
    assert code in {"remote_credentials", "remote_not_allowed", "remote_name"}
    assert "hunter2" not in message


def test_the_container_of_azure_is_no_credential():
    place = locate("abfs://box@account.example/a", allowed={"abfs"})
    assert (place.authority, place.key) == ("box@account.example", "a")


@pytest.mark.parametrize("uri", ["s3://", "s3:///a", "s3://b/a//c", "s3://b/../c", "s3://b/a/./c"])
def test_a_location_without_bucket_or_with_a_wrong_prefix_is_refused(uri):
    assert refused(uri)[0] == "remote_name"


def test_schemes_are_allowed_by_name():
    assert allowed_schemes(["s3,gs", " hdfs "]) == {"s3", "gs", "hdfs"}
    assert allowed_schemes([]) == allowed_schemes([""]) == frozenset()
    with pytest.raises(StoreError, match="https") as caught:
        allowed_schemes(["s3,https"])
    assert caught.value.problem.code == "scheme_unknown"


COMMANDS = [
    ("score", "s3://bucket/calls", "--out", "RUN"),
    ("score", "CALLS", "--out", "RUN", "--store", "s3://bucket/store"),
    ("score", "CALLS", "--out", "s3://bucket/run"),
    ("validate", "gs://bucket/calls", "--allow-remote", "s3"),
    ("explain", "s3://bucket/run", "call"),
    ("rescore", "s3://bucket/run", "--protocol", "inquesto-0.1", "--out", "RUN"),
    ("store", "stats", "s3://bucket/store"),
    ("store", "forget", "s3://bucket/store", "call"),
]
SCRIPT = """
import json, sys
from inquesto_core.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as exc:
        print(exc.code, "inquesto_core.places.filesystem" in sys.modules)
"""


def test_what_is_not_allowed_is_one_line_and_opens_no_filesystem(project, tmp_path):
    (tmp_path / "CALLS").mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, json.dumps(COMMANDS)],
        env={**os.environ, "PYTHONPATH": str(project)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["2 False"] * len(COMMANDS), done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(COMMANDS)
    assert all("[remote_not_allowed]" in line for line in lines)
    assert [path.name for path in tmp_path.iterdir()] == ["CALLS"]
