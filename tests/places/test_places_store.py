"""The evidence store on a real S3 server: used again, shared without locks, and forgetting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from inquesto_core import engine
from inquesto_core.canonical import canonical_bytes, digest_json
from inquesto_core.errors import StoreError
from inquesto_core.evidence import store as store_module
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.evidence.store_summary import summarise
from inquesto_core.places import RemotePlace

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
#: Not the empty markers of folders, which pyarrow leaves where an object is taken away.
WRITTEN = r"^PUT [^?]+[^/?](\?|$)"
PIN, OTHER_PIN = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def _settled(monkeypatch):
    monkeypatch.setattr(store_module, "SETTLING_S", 0.0)


def key(number):
    return digest_json({"number": number})


def keep(store, number, made_by=PIN):
    value = {"rows": [number] * 3}
    store.keep("measured", key(number), value, call_id=f"call-{number}", made_by=made_by)


@pytest.fixture
def filled(place):
    store = EvidenceStore.open(place)
    for number in range(5):
        keep(store, number)
    return store


def held(store, count=5):
    return [store.find("measured", key(number)) for number in range(count)]


ALL = [{"rows": [number] * 3} for number in range(5)]


def test_a_filled_store_is_used_again_without_measuring(
    three_calls, place, tmp_path, monkeypatch, line
):
    given = {"workers": 0, "store": str(place), "allow_remote": ["s3"]}
    engine.score([three_calls], out=tmp_path / "one", **given)
    wrote = line.count(WRITTEN)
    monkeypatch.setattr("inquesto_core.engine.extract.measure_call", None)
    line.asked.clear()
    engine.score([three_calls], out=tmp_path / "two", **given)
    one, two = (tmp_path / name / "record.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert wrote == 5  # store.json, three entries, a pack
    assert line.count("^PUT|^POST|^DELETE") == 0
    assert line.count(r"^GET /calls/[^?]+\.parquet") <= 6


def test_what_is_kept_is_found_before_and_after_packing(filled, place):
    reader = EvidenceStore.of(place)
    assert held(reader) == held(filled) == ALL
    assert filled.pack() == 5
    assert filled.loose_files() == []
    assert held(reader) == held(filled) == held(EvidenceStore.of(place)) == ALL
    assert reader.find("measured", key(99)) is None
    assert filled.verify() == []


def test_two_who_make_one_store_at_once_agree_on_its_secret(place, monkeypatch):
    def other_is_last(_seconds):
        told = canonical_bytes({"format": 1, "secret": "ab" * 32})
        place.child("store.json").write(told)

    monkeypatch.setattr("inquesto_core.evidence.store.time.sleep", other_is_last)
    one = EvidenceStore.open(place)
    EvidenceStore.of(place).forget("call-1")
    assert one.is_forgotten("call-1")


def test_two_packers_do_the_work_twice_and_harm_nothing(filled, place, monkeypatch):
    other, wrote = EvidenceStore.of(place), []
    write_pack = store_module.write_pack

    def write_while_another_packs(folder, entries):
        wrote.append(len(entries))
        if len(wrote) == 1:
            other.pack()
        return write_pack(folder, entries)

    monkeypatch.setattr(store_module, "write_pack", write_while_another_packs)
    filled.pack()
    assert wrote == [5, 5]
    assert len(filled.packs()) == 1
    assert held(EvidenceStore.of(place)) == ALL


def test_two_packers_in_threads_and_a_writer_lose_nothing(filled, place):
    threads = [threading.Thread(target=EvidenceStore.of(place).pack) for _ in range(2)]
    threads.append(threading.Thread(target=keep, args=(filled, 7)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held(EvidenceStore.of(place)) == ALL
    assert EvidenceStore.of(place).find("measured", key(7)) == {"rows": [7] * 3}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_call_that_is_forgotten_while_it_is_packed_stays_forgotten(
    filled, place, monkeypatch, when
):
    write_pack, done = store_module.write_pack, []

    def write(folder, entries):
        if not done:
            done.append(1)
            if when == "before":
                EvidenceStore.of(place).forget("call-2")
            pack = write_pack(folder, entries)
            if when == "after":
                EvidenceStore.of(place).forget("call-2")
            return pack
        return write_pack(folder, entries)

    monkeypatch.setattr(store_module, "write_pack", write)
    filled.pack()
    again = EvidenceStore.of(place)
    assert held(again) == [None if number == 2 else ALL[number] for number in range(5)]
    kept = [entry.call_id for pack in again.packs() for entry in pack.entries()]
    assert "call-2" not in kept


def test_a_call_that_is_forgotten_while_it_is_kept_stays_forgotten(filled, place, monkeypatch):
    write = RemotePlace.write

    def forget_first(self, data):
        if "/loose/" in self.key:
            monkeypatch.setattr(RemotePlace, "write", write)
            EvidenceStore.of(place).forget("call-9")
        write(self, data)

    monkeypatch.setattr(RemotePlace, "write", forget_first)
    keep(filled, 9)
    assert EvidenceStore.of(place).find("measured", key(9)) is None


def test_two_calls_that_are_forgotten_at_once_are_both_gone(filled, place, monkeypatch):
    filled.pack()
    write_pack, done = store_module.write_pack, []

    def write(folder, entries):
        if not done:
            done.append(1)
            EvidenceStore.of(place).forget("call-1")
        return write_pack(folder, entries)

    monkeypatch.setattr(store_module, "write_pack", write)
    filled.forget("call-2")
    again = EvidenceStore.of(place)
    assert held(again) == [None if number in {1, 2} else ALL[number] for number in range(5)]
    kept = {entry.call_id for pack in again.packs() for entry in pack.entries()}
    assert kept == {"call-0", "call-3", "call-4"}


@pytest.mark.parametrize(
    ("use", "at_listing", "expected"),
    [
        (lambda store: store.verify(), 1, []),
        (lambda store: summarise(store).parts, 1, []),
        (lambda store: store.forget("call-2"), 1, 1),
        (lambda store: store.forget("call-2"), 2, 0),  # the other has erased both
    ],
    ids=["verify", "stats", "forget, first listing", "forget, second listing"],
)
def test_a_pack_that_another_writes_anew_meanwhile_stops_nobody(
    filled, place, monkeypatch, use, at_listing, expected
):
    filled.pack()
    listed, count = EvidenceStore.packs, []

    def list_and_lose(self):
        found = listed(self)
        count.append(1)
        if len(count) == at_listing:
            EvidenceStore.of(place).forget("call-1")
        return found

    monkeypatch.setattr(EvidenceStore, "packs", list_and_lose)
    assert use(EvidenceStore.of(place)) == expected
    kept = {entry.call_id for pack in listed(EvidenceStore.of(place)) for entry in pack.entries()}
    assert "call-1" not in kept
    assert ("call-2" in kept) == (expected == [])


def test_forget_reaches_loose_and_packed_and_leaves_a_tombstone(filled, place, run):
    filled.pack()
    keep(filled, 9)
    assert run("store", "forget", place, "call-9", "--allow-remote", "s3")[:2] == (
        0,
        "1 entry erased; a call of that id is not kept here again\n",
    )
    assert EvidenceStore.of(place).forget("call-3") == 1
    keep(filled, 3)
    keep(filled, 9)
    again = EvidenceStore.of(place)
    assert held(again) == [None if number == 3 else ALL[number] for number in range(5)]
    assert again.find("measured", key(9)) is None
    assert all("call-" not in name for name, _ in place.files())


def test_what_is_damaged_is_moved_aside_and_named(filled, place, run):
    filled.pack()
    keep(filled, 7)
    (loose,) = filled.loose_files()
    loose.write(loose.read()[:-1])
    (pack,) = filled.packs()
    pack.place.write(pack.place.read()[:-9] + b"?" * 9)
    code, said, _ = run("store", "verify", place, "--allow-remote", "s3")
    assert code == 1
    assert said.count("[evidence_damaged]") == 2
    names = [name for name, _ in place.files()]
    assert sum(name.startswith("damaged/") for name in names) == 2
    assert run("store", "verify", place, "--allow-remote", "s3")[0] == 0


def test_prune_and_stats_work_on_a_bucket(filled, place, run):
    filled.pack()
    keep(filled, 8, made_by=OTHER_PIN)
    assert OTHER_PIN[:12] in run("store", "stats", place, "--allow-remote", "s3")[1]
    assert EvidenceStore.of(place).prune(frozenset({PIN})) == 1
    assert OTHER_PIN[:12] not in run("store", "stats", place, "--allow-remote", "s3")[1]
    assert held(EvidenceStore.of(place)) == ALL


WRITER = """
import sys
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.places import locate
store = EvidenceStore.of(locate(sys.argv[1], allowed={"s3"}))
size = int(sys.argv[2])
store.keep("measured", "0" * 64, {"x": "y" * size}, call_id="c", made_by="a" * 64)
"""


@pytest.mark.parametrize("size", [2000, 30_000_000], ids=["one PUT", "in parts"])
def test_a_writer_that_is_killed_leaves_no_half_of_an_entry(filled, place, project, line, size):
    line.stalls_at = r"^PUT .*measured\.0{64}"
    writer = subprocess.Popen(
        [sys.executable, "-P", "-c", WRITER, str(place), str(size)],
        env={**os.environ, "PYTHONPATH": str(project)},
    )
    assert line.stalled.wait(60)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    line.stalls_at = None
    line.stalled.clear()
    assert sorted(place.name for place in filled.loose_files()) == sorted(
        f"measured.{key(number)}" for number in range(5)
    )
    assert filled.verify() == []


def test_a_bucket_with_other_objects_is_no_store(place):
    place.child("thesis.doc").write(b"x")
    with pytest.raises(StoreError, match="holds other files") as caught:
        EvidenceStore.open(place)
    assert caught.value.problem.code == "not_a_store"


def test_a_store_that_goes_away_is_one_line_and_what_was_kept_stays(
    three_calls, place, tmp_path, run, line
):
    EvidenceStore.open(place)
    line.breaks_at = r"^PUT .*/loose/"
    given = ("--store", place, "--allow-remote", "s3", "--workers", "1")
    code, _, told = run("score", three_calls, "--out", tmp_path / "RUN", *given)
    assert code == 5
    (said,) = [each for each in told.splitlines() if each.startswith("inquesto-core:")]
    assert "[remote_unreachable]" in said


def test_a_store_in_a_bucket_that_is_not_ours_is_one_line(line, tmp_path, three_calls, run):
    given = ("--store", "s3://another/store", "--allow-remote", "s3")
    code, _, told = run("score", three_calls, "--out", tmp_path / "RUN", *given)
    assert (code, told.count("\n")) == (5, 1), told
    assert "[remote_denied]" in told or "[remote_missing]" in told
    assert line.asked
