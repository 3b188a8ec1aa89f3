"""A run in many partitions is the run in one: same records, same calls, same explanations."""

from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core import cli, engine
from inquesto_core.engine import partitions
from inquesto_core.engine.partitions import part_of_call, parts_of, place_of_part, split_calls
from inquesto_core.errors import StoreError
from inquesto_core.report.explain import explain_lines

DRAFT = "inquesto-0.2-draft"


@settings(max_examples=60, deadline=None)
@given(st.sets(st.text(max_size=6), max_size=40), st.integers(1, 9))
def test_each_call_is_in_the_partition_of_its_hash(tmp_path_factory, calls, at_most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "CALLS_A_PART", at_most)
        split = split_calls(sorted(calls))
    assert sorted(call for part in split.values() for call in part) == sorted(calls)
    run = tmp_path_factory.mktemp("run")
    for part in split:
        place_of_part(run, part).mkdir(parents=True, exist_ok=True)
    if not calls:
        assert split == {}
        return
    assert parts_of(run) == list(split)
    for part, held in split.items():
        assert {part_of_call(run, call) for call in held} == {part}
    count = max(1, 2 ** ((len(calls) - 1) // at_most).bit_length())
    assert len(split) <= count < max(2, 2 * len(calls) / at_most + 1)
    if count > 1:
        bits = count.bit_length() - 1
        for part, held in split.items():
            firsts = {hashlib.sha256(c.encode()).digest()[0] >> (8 - bits) for c in held}
            assert firsts == {int(part, 16) >> (16 - bits)}


@pytest.fixture(scope="module")
def whole(six_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "RUN"
    return engine.score([six_calls], out=out)


@pytest.fixture(scope="module")
def parted(six_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("parted") / "RUN"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "CALLS_A_PART", 2)
        result = engine.score([six_calls], out=out)
    assert len(parts_of(out)) > 1
    return result


def record(result):
    return (result.folder / "record.json").read_bytes()


def rows(frame):
    return sorted(map(repr, frame.rows()))


def test_the_record_and_every_table_are_the_same(whole, parted):
    assert record(whole) == record(parted)
    assert rows(whole.decisions) == rows(parted.decisions)
    assert whole.totals == parted.totals
    mine, theirs = parted.tables, whole.tables
    assert "events" in mine
    assert "replies" not in mine
    for name, table in mine.items():
        assert rows(table) == rows(theirs[name])
        assert table.schema == theirs[name].schema


def test_a_call_is_explained_as_ever(whole, parted):
    law = engine.protocol_of_run(engine.load_run(whole.folder))
    for call_id in whole.decisions["call_id"].drop_nulls():
        told = []
        for result in (whole, parted):
            stored = engine.load_call(result.folder, call_id)
            told.append(
                explain_lines(call_id, stored.tables, stored.decisions, law, stored.population)
            )
        assert told[0] == told[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_another_protocol_reads_the_same_of_it(whole, parted, workers, tmp_path):
    one = engine.rescore(whole.folder, protocol=DRAFT, out=tmp_path / "ONE")
    many = engine.rescore(parted.folder, protocol=DRAFT, out=tmp_path / "MANY", workers=workers)
    assert rows(one.differences) == rows(many.differences)
    assert one.counts.first.equals(many.counts.first)
    assert one.counts.changed_n == many.counts.changed_n
    first, second = (json.loads(record(done.result)) for done in (one, many))
    assert first == second
    assert parts_of(tmp_path / "MANY") == parts_of(parted.folder)
    assert rows(many.result.tables["segments"]) == rows(parted.tables["segments"])


def test_what_is_measured_anew_is_put_in_each_partition(whole, parted, six_calls, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    said = {"timeline": {"ipu_gap_ms": 250}, "media": {"min_duration_ms": 501}}
    law = {"extends": "inquesto-0.1", "protocol": "ours-1", **said}
    (folder / "protocol.json").write_text(json.dumps(law), encoding="utf-8")
    done = [
        engine.rescore(run.folder, protocol=folder, out=tmp_path / name, sources=[six_calls])
        for run, name in ((whole, "ONE"), (parted, "MANY"))
    ]
    assert record(done[0].result) == record(done[1].result)
    assert rows(done[0].differences) == rows(done[1].differences)


def test_a_lost_table_of_a_partition_is_never_an_empty_one(parted, tmp_path):
    part = parts_of(parted.folder)[0]
    lost = place_of_part(parted.folder, part) / "evidence" / "segments.parquet"
    data = lost.read_bytes()
    lost.unlink()
    try:
        with pytest.raises(StoreError, match=r"segments\.parquet .* is not there"):
            engine.rescore(parted.folder, protocol=DRAFT, out=tmp_path / "OUT")
    finally:
        lost.write_bytes(data)


def test_a_run_written_over_another_leaves_nothing_of_it(six_calls, tmp_path):
    out = tmp_path / "RUN"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "CALLS_A_PART", 2)
        engine.score([six_calls], out=out)
    engine.score([six_calls], out=out)
    assert parts_of(out) == [""]
    assert not (out / "missing_calls.parquet").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "CALLS_A_PART", 2)
        engine.score([six_calls], out=out)
    assert len(parts_of(out)) > 1
    assert not (out / "calls.parquet").exists()
    assert isinstance(engine.load_run(out).decisions, pl.DataFrame)


def test_of_a_folder_of_runs_each_is_rescored_under_its_name(whole, parted, tmp_path, capfd):
    held = tmp_path / "ARCHIVE"
    held.mkdir()
    for name, result in (("march", whole), ("april", parted)):
        (held / name).symlink_to(result.folder)
    out = tmp_path / "OUT"
    asked = ["rescore", held, "--protocol", DRAFT, "--out", out, "--workers", "1"]
    with pytest.raises(SystemExit) as ended:
        cli.main([str(each) for each in asked])
    assert ended.value.code == 4  # of the design's calls six are there
    assert (out / "march" / "record.json").read_bytes() == (
        out / "april" / "record.json"
    ).read_bytes()
    said = capfd.readouterr().out
    assert said.index("april:") < said.index("march:")
    assert f"All of it, call by call: {out}/march/differences.parquet" in said
    assert f"All of it, call by call: {out}/april/parts/*/differences.parquet" in said
