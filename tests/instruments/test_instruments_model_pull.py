"""A pinned model is fetched whole, or not at all; nothing else ever stands in its place."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from model_server import Conduct, serving

from inquesto_core.errors import InstrumentError, StoreError
from inquesto_core.instruments import model_transfer
from inquesto_core.instruments.model_connection import ConnectionFailed, open_transfer
from inquesto_core.instruments.model_files import models_folder, require_model_file
from inquesto_core.instruments.model_parts import ModelPart, PinnedModel
from inquesto_core.instruments.model_pull import pull_model

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

DATA = random.Random(7).randbytes(3_000_000)
OTHER = random.Random(8).randbytes(len(DATA))
SMALL = b'{"size": "small"}'


def part(name, data, *sources):
    sha256 = hashlib.sha256(data).hexdigest()
    return ModelPart(name=name, sha256=sha256, size_bytes=len(data), sources=sources)


def model(*sources, beside=()):
    main = part("m.gguf", DATA, *sources)
    return PinnedModel(name="a-judge", main=main, beside=beside, terms=None)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Give the test a home of its own, without models, proxies or long pauses."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(model_transfer, "PAUSES_S", (0.0, 0.0))
    for name in ("XDG_CACHE_HOME", "INQUESTO_MODELS", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def server():
    conduct = Conduct(files={"/m.gguf": DATA})
    with serving(conduct) as address:
        yield SimpleNamespace(conduct=conduct, address=address, file=f"{address}/m.gguf")


def pull(wanted, *given, **options):
    shown = []
    options.setdefault("progress", lambda *seen: shown.append(seen))
    path, is_new = pull_model(wanted, given=given, **options)
    return SimpleNamespace(path=path, is_new=is_new, shown=shown)


def left():
    """Return the names of all files in the folder of models."""
    return sorted(path.name for path in models_folder().rglob("*") if path.is_file())


def put_part(data):
    path = models_folder() / "a-judge" / "m.gguf.part"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


# Over a connection


def test_a_model_is_fetched_verified_and_found(server):
    pulled = pull(model(server.file))
    assert pulled.is_new
    assert pulled.path.read_bytes() == DATA
    assert require_model_file(model()) == pulled.path
    assert left() == ["m.gguf"]
    assert pulled.shown[-1] == ("m.gguf", len(DATA), len(DATA))
    counts = [done for _, done, _ in pulled.shown]
    assert counts == sorted(counts)
    assert pulled.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_model_that_is_here_is_not_fetched(server, tmp_path, monkeypatch):
    monkeypatch.setenv("INQUESTO_MODELS", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "any-name").write_bytes(DATA)
    pulled = pull(model(server.file))
    assert (pulled.is_new, pulled.path) == (False, tmp_path / "elsewhere" / "any-name")
    assert server.conduct.asked == []
    assert not models_folder().exists()


def test_a_wrong_file_in_its_place_is_replaced_by_the_right_one(server):
    path = models_folder() / "a-judge" / "m.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(OTHER)
    assert pull(model(server.file)).path == path
    assert path.read_bytes() == DATA


def test_a_cut_transfer_goes_on_where_it_stopped(server):
    server.conduct.cuts += [1_000_000, 500_000]
    assert pull(model(server.file)).path.read_bytes() == DATA
    first, second, third = server.conduct.asked
    assert "Range" not in first
    assert (second["Range"], second["If-Range"]) == ("bytes=1000000-", '"one"')
    assert third["Range"] == "bytes=1500000-"


def test_a_later_run_goes_on_where_an_earlier_one_stopped(server):
    server.conduct.cuts += [2_000_000, 0, 0, 0]
    with pytest.raises(InstrumentError, match=r"was cut.*what has come is kept.*not_fetched"):
        pull(model(server.file))
    assert left() == ["m.gguf.part", "m.gguf.part.json"]
    server.conduct.asked.clear()
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert [asked["Range"] for asked in server.conduct.asked] == ["bytes=2000000-"]
    assert left() == ["m.gguf"]


def test_another_version_at_the_address_is_fetched_from_its_start(server):
    server.conduct.files["/m.gguf"] = OTHER
    server.conduct.cuts += [2_000_000, 0, 0, 0]
    with pytest.raises(InstrumentError, match="was cut"):
        pull(model(server.file))
    server.conduct.files["/m.gguf"], server.conduct.etag = DATA, '"two"'
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert server.conduct.asked[-1]["If-Range"] == '"one"'


def test_a_beginning_of_unknown_origin_that_does_not_fit_costs_one_more_transfer(server):
    put_part(OTHER[:1_000_000])
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert [asked.get("Range") for asked in server.conduct.asked] == ["bytes=1000000-", None]


def test_a_beginning_from_elsewhere_that_fits_is_used(server):
    put_part(DATA[:2_999_999])
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert [asked.get("Range") for asked in server.conduct.asked] == ["bytes=2999999-"]


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        pytest.param(DATA, [], id="whole: verified and nothing asked"),
        pytest.param(OTHER, [None], id="whole and another: from the start"),
        pytest.param(DATA + b"x", [None], id="longer: from the start"),
    ],
)
def test_an_unfinished_file_is_judged_by_its_length_and_digest(server, held, asked):
    put_part(held)
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert [seen.get("Range") for seen in server.conduct.asked] == asked


def test_an_unfinished_file_is_never_taken_for_the_model(server):
    put_part(DATA)
    with pytest.raises(InstrumentError, match="model_missing"):
        require_model_file(model())


def test_a_server_without_ranges_sends_the_file_anew(server):
    server.conduct.ranges = False
    server.conduct.cuts += [1_000_000]
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert server.conduct.asked[1]["Range"] == "bytes=1000000-"


def test_a_server_that_refuses_the_range_is_asked_for_all(server):
    server.conduct.etag = None
    put_part(DATA[:5])
    server.conduct.errors += [416]
    assert pull(model(server.file)).path.read_bytes() == DATA


def test_a_server_that_sends_another_part_is_not_believed(server):
    server.conduct.lies_about_start = 1
    put_part(DATA[:1000])
    with pytest.raises(InstrumentError, match="sends bytes from 1001 on, not 1000"):
        pull(model(server.file))


def test_a_server_that_does_not_tell_the_length_is_read_to_the_end(server):
    server.conduct.tells_length = False
    assert pull(model(server.file)).path.read_bytes() == DATA


def test_more_than_the_pinned_length_is_not_written_down(server):
    server.conduct.tells_length = False
    server.conduct.files["/m.gguf"] = DATA + OTHER
    with pytest.raises(InstrumentError, match=r"more than 3000000 bytes"):
        pull(model(server.file))
    assert left() == []


def test_a_wrong_file_is_removed_and_said(server):
    server.conduct.files["/m.gguf"] = OTHER
    found = hashlib.sha256(OTHER).hexdigest()
    with pytest.raises(InstrumentError, match=rf"removed: its SHA-256 is {found}.*--from") as told:
        pull(model(server.file))
    assert told.value.problem.code == "model_not_fetched"
    assert left() == []


def test_a_file_of_another_length_is_refused_before_it_is_read(server):
    server.conduct.files["/m.gguf"] = b"<html>sign in first</html>"
    with pytest.raises(InstrumentError, match="is another file: it has 26 bytes"):
        pull(model(server.file))
    assert left() == []


@pytest.mark.parametrize("code", [403, 404])
def test_a_source_that_will_not_give_it_is_asked_once(server, code):
    server.conduct.errors += [code] * 9
    with pytest.raises(InstrumentError, match=f"answers {code}"):
        pull(model(server.file))
    assert len(server.conduct.asked) == 1


def test_a_busy_server_is_asked_again(server):
    server.conduct.errors += [503, 429]
    assert pull(model(server.file)).path.read_bytes() == DATA


def test_the_next_source_is_tried_and_all_that_failed_are_named(server):
    wanted = model(f"{server.address}/none", server.file)
    assert pull(wanted).path.read_bytes() == DATA
    pull(wanted).path.unlink()
    with pytest.raises(InstrumentError, match=r"/none: answers 404.*/nor-here: answers 404"):
        pull(model(f"{server.address}/none", f"{server.address}/nor-here?key=secret"))


def test_a_named_source_stands_in_place_of_the_known_ones(server):
    with pytest.raises(InstrumentError, match="/none: answers 404"):
        pull(model(server.file), f"{server.address}/none")
    assert pull(model(), server.file).is_new


def test_a_model_of_several_files_is_whole_or_fetched_further(server):
    server.conduct.files["/config.json"] = SMALL
    beside = (part("config.json", SMALL, f"{server.address}/config.json"),)
    wanted = model(server.file, beside=beside)
    assert pull(wanted).is_new
    assert left() == ["config.json", "m.gguf"]
    (models_folder() / "a-judge" / "config.json").write_bytes(b"{}")
    server.conduct.asked.clear()
    assert pull(wanted, f"{server.address}/").is_new
    assert [asked["path"] for asked in server.conduct.asked] == ["/config.json"]
    assert not pull(wanted).is_new


def test_nothing_is_known_of_a_model_that_no_source_has():
    with pytest.raises(InstrumentError, match="no source of it is known"):
        pull(model())


# What an address may be


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://192.0.2.1/m", "plain http from 192.0.2.1; --allow-http"),
        ("http://localhost.example/m", "plain http from localhost.example"),
        ("https://me:word@192.0.2.1/m", "never sent"),
        ("ftp://192.0.2.1/m", "the scheme 'ftp'"),
    ],
)
def test_an_address_that_is_not_allowed_is_not_asked(address, told):
    with pytest.raises(ConnectionFailed, match=told):
        open_transfer(address, start=0, validator=None, allow_http=False)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("http://192.0.2.1/m.gguf", "its redirect would be fetched over plain http"),
        ("ftp://127.0.0.1/m.gguf", "its redirect leads to the scheme 'ftp'"),
        ("file:///etc/hosts", "answers 302"),
    ],
)
def test_a_redirect_to_what_is_not_allowed_is_not_followed(server, target, told):
    server.conduct.redirects["/moved"] = target
    with pytest.raises(InstrumentError, match=told):
        pull(model(f"{server.address}/moved"))


def test_a_redirect_is_followed_and_keeps_the_range(server):
    server.conduct.redirects["/moved"] = "/m.gguf"
    put_part(DATA[:10])
    assert pull(model(f"{server.address}/moved")).path.read_bytes() == DATA
    assert server.conduct.asked[-1]["Range"] == "bytes=10-"


def test_another_host_cannot_be_reached_by_this_test():
    """Blocked by pytest-socket; were it not, the others would prove less."""
    with pytest.raises(Exception, match=r"192\.0\.2\.1"):
        open_transfer("https://192.0.2.1/m", start=0, validator=None, allow_http=False)


# From a disk


@pytest.mark.parametrize("as_url", [False, True], ids=["path", "file-url"])
@pytest.mark.parametrize("as_folder", [False, True], ids=["file", "folder"])
def test_a_model_is_carried_over_on_a_disk(tmp_path, as_url, as_folder):
    stick = tmp_path / "a stick" / "deep"
    stick.mkdir(parents=True)
    (stick / "sha256-abc").write_bytes(DATA)
    (stick / "config.json").write_bytes(SMALL)
    named = stick.parent if as_folder else stick / "sha256-abc"
    given = named.as_uri() if as_url else str(named)
    pulled = pull(model(beside=(part("config.json", SMALL),)), given)
    assert pulled.path.read_bytes() == DATA
    assert left() == ["config.json", "m.gguf"]


def test_a_wrong_file_on_a_disk_is_said_and_stays_there(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(OTHER)
    with pytest.raises(InstrumentError, match="another file and was removed"):
        pull(model(), str(path))
    assert path.read_bytes() == OTHER
    path.write_bytes(b"short")
    with pytest.raises(InstrumentError, match="another file: it has 5 bytes"):
        pull(model(), str(path))
    with pytest.raises(InstrumentError, match="cannot be read"):
        pull(model(), str(tmp_path / "none"))
    assert left() == []


# The disk, and other processes


@pytest.mark.parametrize(("short", "fits"), [(1, False), (0, True)], ids=["a byte less", "enough"])
def test_room_is_asked_for_before_anything_is_fetched(server, monkeypatch, short, fits):
    needed = len(DATA) + (64 << 20)
    usage = SimpleNamespace(free=needed - short)
    monkeypatch.setattr(model_transfer.shutil, "disk_usage", lambda _: usage)
    if fits:
        assert pull(model(server.file)).is_new
        return
    with pytest.raises(StoreError, match=rf"needs {needed} bytes.*{needed - 1} are free") as told:
        pull(model(server.file))
    assert told.value.problem.code == "disk_full"
    assert server.conduct.asked == []


def test_a_disk_that_fills_up_is_said_and_what_has_come_is_kept(server):
    seen = []

    def progress(*shown):
        seen.append(shown)
        if len(seen) == 2:
            raise OSError(errno.EIO, "unplugged")

    with pytest.raises(OSError, match="unplugged"):
        pull(model(server.file), progress=progress)
    assert left() == ["m.gguf.part", "m.gguf.part.json"]


def test_a_folder_that_cannot_be_written_is_said(home, server):
    models_folder().parent.mkdir(parents=True)
    models_folder().write_bytes(b"")
    with pytest.raises(StoreError, match="models_unwritable"):
        pull(model(server.file))


def test_two_pulls_of_one_file_do_not_mix(server):
    with put_part(b"").open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InstrumentError, match="pull_busy"):
            pull(model(server.file))
    assert pull(model(server.file)).path.read_bytes() == DATA


PULL = """
import sys
from inquesto_core.instruments.model_parts import ModelPart, PinnedModel
from inquesto_core.instruments.model_pull import pull_model
_, sha256, size, source = sys.argv
main = ModelPart(name="m.gguf", sha256=sha256, size_bytes=int(size), sources=(source,))
wanted = PinnedModel(name="a-judge", main=main, beside=(), terms=None)
print(pull_model(wanted, progress=lambda *_: print("more", flush=True)))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_pull_that_is_killed_in_the_middle_is_gone_on_with(server, how):
    server.conduct.cuts += [1_500_000]
    server.conduct.waits = threading.Event()
    main = model().main
    started = subprocess.Popen(
        [sys.executable, "-c", PULL, main.sha256, str(main.size_bytes), server.file],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    held = models_folder() / "a-judge" / "m.gguf.part"
    deadline = time.monotonic() + 240
    while not (held.is_file() and held.stat().st_size >= 1 << 20) and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(how)
    started.communicate(timeout=120)
    server.conduct.waits.set()
    kept = held.stat().st_size
    assert kept >= 1 << 20
    with pytest.raises(InstrumentError, match="model_missing"):
        require_model_file(model())
    server.conduct.waits = None
    assert pull(model(server.file)).path.read_bytes() == DATA
    assert server.conduct.asked[-1]["Range"] == f"bytes={kept}-"
