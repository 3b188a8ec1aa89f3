"""The evidence store: written whole, proven when read, shared, and forgetting on request."""

from __future__ import annotations

import multiprocessing
import os
import stat

import polars as pl
import pyarrow.parquet as pq
import pytest

from inquesto_core.canonical import digest_json
from inquesto_core.errors import StoreError
from inquesto_core.evidence.entries import open_entry
from inquesto_core.evidence.packs import PACK_SCHEMA
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.evidence.store_summary import summarise
from inquesto_core.report.store_text import stats_text

PIN, OTHER_PIN = "a" * 64, "b" * 64
PHONE = "+49 151 2345678"


def key(number):
    return digest_json({"number": number})


def filled(root, count=5, made_by=PIN):
    store = EvidenceStore.open(root)
    for number in range(count):
        store.keep(
            "measured",
            key(number),
            {"rows": [number] * 3},
            call_id=f"call-{number}",
            made_by=made_by,
        )
    return store


def held(store, count=5):
    return [store.find("measured", key(number)) for number in range(count)]


def all_of(count=5):
    return [{"rows": [number] * 3} for number in range(count)]


def files(root):
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_what_is_kept_is_found_by_whoever_opens_the_store(tmp_path):
    filled(tmp_path / "store")
    assert held(EvidenceStore.of(tmp_path / "store")) == all_of()
    assert EvidenceStore.of(tmp_path / "store").find("answer", key(1)) is None
    assert EvidenceStore.of(tmp_path / "store").find("measured", key(99)) is None


def test_packing_changes_nothing_that_is_found(tmp_path):
    store = filled(tmp_path / "store", 150)
    reader = EvidenceStore.of(tmp_path / "store")
    assert held(reader, 150) == all_of(150)
    assert store.pack() == 150
    assert store.loose_files() == []
    assert held(store, 150) == held(reader, 150) == all_of(150)
    assert store.pack() == 0


def test_a_pack_is_a_parquet_table_of_declared_columns_sorted_by_kind_and_key(tmp_path):
    store = filled(tmp_path / "store", 70)
    store.keep("answer", key(3), {"verdict": True}, call_id="call-3", made_by=PIN)
    store.pack()
    (pack,) = store.packs()
    assert pq.read_schema(pack.place.path).equals(PACK_SCHEMA)
    table = pl.read_parquet(pack.place.path)
    assert table.select("kind", "key").rows() == sorted(table.select("kind", "key").rows())
    assert pack.is_whole()
    assert (("answer", key(3)) in pack, ("answer", key(4)) in pack) == (True, False)


def test_everything_is_for_its_owner_only(tmp_path):
    store = filled(tmp_path / "store")
    store.pack()
    store.keep("measured", key(77), {}, call_id="x", made_by=PIN)
    store.forget("x")
    for path in (tmp_path / "store").rglob("*"):
        allowed = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == allowed, path


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("place", [0, 20, 100, -1], ids=["first", "head", "digest", "value"])
def test_a_damaged_loose_entry_is_never_trusted_and_is_moved_aside(tmp_path, place):
    store = filled(tmp_path / "store")
    path = next(p.path for p in store.loose_files() if p.name == f"measured.{key(2)}")
    data = path.read_bytes()
    path.write_bytes(flipped(data, place % len(data)))
    assert store.find("measured", key(2)) is None
    assert not path.exists()
    assert (tmp_path / "store" / "damaged" / path.name).exists()
    store.keep("measured", key(2), {"rows": [2] * 3}, call_id="call-2", made_by=PIN)
    assert held(store) == all_of()


def test_every_flipped_byte_of_an_entry_is_found(tmp_path):
    store = filled(tmp_path / "store", 1)
    (place,) = store.loose_files()
    data = place.read()
    assert open_entry(data) is not None
    assert all(open_entry(flipped(data, at)) is None for at in range(len(data)))


def test_a_damaged_pack_loses_only_itself_and_is_named_by_verify(tmp_path):
    store = filled(tmp_path / "store", 3)
    store.pack()
    (first,) = store.packs()
    store.keep("measured", key(3), {"rows": [3] * 3}, call_id="call-3", made_by=PIN)
    store.pack()
    assert EvidenceStore.of(tmp_path / "store").verify() == []
    data = first.place.path.read_bytes()
    first.place.path.write_bytes(flipped(data, len(data) // 2))
    again = EvidenceStore.of(tmp_path / "store")
    found = held(again, 4)
    assert found[3] == {"rows": [3] * 3}
    assert all(value in (None, expected) for value, expected in zip(found, all_of(4), strict=True))
    problems = EvidenceStore.of(tmp_path / "store").verify()
    already = (tmp_path / "store" / "damaged" / first.place.path.name).exists() and not problems
    assert already or [p.file for p in problems] == [f"packs/{first.place.path.name}"]
    assert EvidenceStore.of(tmp_path / "store").verify() == []


def test_verify_names_a_file_under_a_wrong_name(tmp_path):
    store = filled(tmp_path / "store", 2)
    one, two = (place.path for place in store.loose_files())
    two.write_bytes(one.read_bytes())
    (problem,) = store.verify()
    assert problem.code == "evidence_damaged"
    assert problem.file.endswith(two.name)


def test_a_forgotten_call_is_gone_from_every_file_and_stays_away(tmp_path):
    store = filled(tmp_path / "store", 3)
    store.keep("measured", key(50), {"said": "my name"}, call_id=PHONE, made_by=PIN)
    store.pack()
    store.keep("answer", key(51), {"reason": "my name"}, call_id=PHONE, made_by=PIN)
    assert store.forget(PHONE) == 2
    assert held(store, 3) == all_of(3)
    assert store.find("measured", key(50)) is None
    assert store.is_forgotten(PHONE) and not store.is_forgotten("call-1")
    for path in files(tmp_path / "store"):
        assert b"my name" not in path.read_bytes()
        assert b"151" not in path.read_bytes() or path.suffix == ".parquet"
    store.keep("measured", key(50), {"said": "my name"}, call_id=PHONE, made_by=PIN)
    assert store.find("measured", key(50)) is None
    assert store.forget(PHONE) == 0


def test_prune_takes_out_what_no_pin_names(tmp_path):
    store = filled(tmp_path / "store", 3)
    store.pack()
    store.keep("measured", key(9), {}, call_id="call-9", made_by=OTHER_PIN)
    assert store.prune(frozenset({PIN})) == 1
    assert held(store, 3) == all_of(3)
    assert store.find("measured", key(9)) is None
    assert store.prune(frozenset()) == 3
    assert store.packs() == []


def test_a_shelf_keeps_the_same_answer_of_two_calls_apart(tmp_path):
    store = EvidenceStore.open(tmp_path / "store")
    one, two = (store.shelf("answer", call_id=call, made_by=PIN) for call in ("one", "two"))
    one.keep(key(1), {"verdict": True})
    two.keep(key(1), {"verdict": True})
    assert store.forget("one") == 1
    assert one.find(key(1)) is None
    assert two.find(key(1)) == {"verdict": True}


def write_many(root, first):
    store = EvidenceStore.of(root)
    for number in range(first, first + 60):
        value = {"rows": [number] * 3}
        store.keep("measured", key(number), value, call_id=f"call-{number}", made_by=PIN)
        if number % 10 == 0:
            store.pack()


def test_writers_and_packers_share_a_store(tmp_path):
    EvidenceStore.open(tmp_path / "store")
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=write_many, args=(tmp_path / "store", first)) for first in (0, 30)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    store = EvidenceStore.of(tmp_path / "store")
    assert held(store, 90) == all_of(90)
    assert store.verify() == []


def test_temporary_files_of_the_killed_are_not_evidence(tmp_path):
    store = filled(tmp_path / "store")
    folder = store.loose_files()[0].path.parent
    (folder / f"measured.{key(1)}.4711.tmp").write_bytes(b"half")
    assert len(store.loose_files()) == 5
    assert store.verify() == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format":2,"secret":"00"}', b'{"format":1}'])
def test_a_folder_that_is_no_store_of_this_version_is_refused(tmp_path, content):
    (tmp_path / "store.json").write_bytes(content)
    with pytest.raises(StoreError, match="store") as caught:
        EvidenceStore.open(tmp_path)
    assert caught.value.problem.code == "not_a_store"


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.doc").write_bytes(b"x")
    with pytest.raises(StoreError, match="holds other files"):
        EvidenceStore.open(tmp_path)


def test_a_name_that_is_no_digest_never_becomes_a_path(tmp_path):
    store = EvidenceStore.open(tmp_path / "store")
    for bad in ("../../etc/passwd", "a" * 63, "A" * 64):
        with pytest.raises(ValueError, match="is no name"):
            store.find("measured", bad)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_store_is_one_clear_line(tmp_path):
    store = filled(tmp_path / "store")
    for folder in (tmp_path / "store" / "loose").iterdir():
        folder.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        store.keep("measured", key(1), {}, call_id="x", made_by=PIN)


def test_a_full_disk_is_one_clear_line(tmp_path, monkeypatch):
    store = filled(tmp_path / "store")

    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inquesto_core.places.local.os.open", full)
    with pytest.raises(StoreError, match="No space left") as caught:
        store.keep("measured", key(9), {}, call_id="x", made_by=PIN)
    assert caught.value.problem.code == "store_unwritable"
    assert held(store) == all_of()


def test_what_is_damaged_does_not_keep_a_call_from_being_forgotten(tmp_path):
    store = filled(tmp_path / "store", 2)
    store.pack()
    (pack,) = store.packs()
    pack.place.path.write_bytes(b"no parquet, and it may hold anything")
    (tmp_path / "store" / "loose" / "stray").write_bytes(b"x")
    store.keep("measured", key(7), {"said": "my name"}, call_id=PHONE, made_by=PIN)
    assert EvidenceStore.of(tmp_path / "store").forget(PHONE) == 1
    assert not pack.place.path.exists()
    assert not (tmp_path / "store" / "damaged").exists()


def packed_and_damaged(root, *, at):
    """Return a store of one pack of 150 entries of which a byte was flipped."""
    store = filled(root, 150)
    store.pack()
    (pack,) = (root / "packs").iterdir()
    data = bytearray(pack.read_bytes())
    data[at(len(data))] ^= 0x55
    pack.write_bytes(data)
    return EvidenceStore.of(root)


def test_of_a_damaged_pack_what_is_whole_is_kept_and_the_rest_is_missing(tmp_path):
    store = packed_and_damaged(tmp_path / "store", at=lambda size: size // 5)
    assert summarise(store).damaged == 1
    (problem,) = store.verify()
    assert problem.code == "evidence_damaged"
    found = held(EvidenceStore.of(tmp_path / "store"), 150)
    assert {None, *map(str, all_of(150))} >= {None if each is None else str(each) for each in found}
    assert 0 < sum(each is not None for each in found) < 150
    assert [len(store.damaged_files()), summarise(store).damaged] == [1, 0]


def test_a_damaged_pack_is_moved_aside_by_whoever_looks_for_what_it_held(tmp_path):
    store = packed_and_damaged(tmp_path / "store", at=lambda size: size // 5)
    assert None in held(store, 150)
    assert len(store.damaged_files()) == 1
    assert EvidenceStore.of(tmp_path / "store").verify() == []


def test_a_pack_that_cannot_be_read_at_all_is_no_empty_store(tmp_path):
    store = packed_and_damaged(tmp_path / "store", at=lambda size: size - 6)
    assert (summarise(store).parts, summarise(store).damaged) == ([], 1)
    assert "1 file is not what was written" in stats_text(summarise(store))


def test_erasing_a_call_leaves_what_a_damaged_pack_still_holds_of_others(tmp_path):
    store = packed_and_damaged(tmp_path / "store", at=lambda size: size // 5)
    store.forget("call-1")
    found = held(EvidenceStore.of(tmp_path / "store"), 150)
    assert found[1] is None
    assert any(found)
    assert store.damaged_files() == []


def test_a_lock_that_is_no_file_is_told_before_anything_is_kept(tmp_path):
    filled(tmp_path / "store")
    (tmp_path / "store/lock").unlink(missing_ok=True)
    (tmp_path / "store/lock").mkdir()
    with pytest.raises(StoreError, match=r"has a lock that is no file.*not_a_store"):
        EvidenceStore.of(tmp_path / "store")


def test_a_damaged_pack_whose_names_are_no_text_is_moved_aside(tmp_path):
    store = packed_and_damaged(tmp_path / "store", at=lambda size: size // 5)
    (pack,) = store.packs()
    file = pack.place.path
    whole = file.read_bytes()
    problems = []
    for at in range(4, len(whole) - 8, 7):
        file.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        problems += store.verify()
        file.write_bytes(whole)
    assert {problem.code for problem in problems} == {"evidence_damaged"}
