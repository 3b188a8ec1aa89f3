"""What cannot be used as it stands ends in a stated state, and is told in one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import polars as pl
import pytest

from inquesto_core import engine


@pytest.fixture
def calls(project, tmp_path):
    """Return a folder with three of the sample calls and their population."""
    folder = tmp_path / "calls"
    folder.mkdir()
    samples = project / "sample_records"
    shutil.copy(samples / "population.json", folder)
    for path in sorted(samples.rglob("*-clean/call.json"))[:3]:
        shutil.copytree(path.parent, folder / path.parent.name)
    return folder


def bundles(calls):
    return sorted(path.parent for path in calls.glob("*/call.json"))


def rewrite(bundle, **fields):
    file = bundle / "call.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **fields}))


def test_a_reason_that_the_protocol_has_takes_the_call_out_without_a_word(calls, tmp_path):
    first, *_ = bundles(calls)
    rewrite(first, exclusion={"reason": "caller_deviation", "detail": "said another name"})
    result = engine.score([calls], out=tmp_path / "RUN")
    row = result.decisions.row(by_predicate=pl.col("call_id") == first.name, named=True)
    assert (row["state"], row["reasons"]) == ("excluded", ["caller_deviation"])
    assert not result.has_bad_input


def test_a_reason_of_ones_own_is_named_in_one_line_and_leaves_the_call_open(calls, tmp_path):
    first, *_ = bundles(calls)
    rewrite(first, exclusion={"reason": "we did not like it"})
    result = engine.score([calls], out=tmp_path / "RUN")
    row = result.decisions.row(by_predicate=pl.col("call_id") == first.name, named=True)
    assert (row["state"], row["reasons"]) == ("not_evaluated", ["exclusion_unknown"])
    assert row["passed"] is None
    (message,) = result.tables["problems"]["message"]
    assert message == (
        f"call {first.name}: call.json /exclusion/reason is 'we did not like it'; expected one of "
        "caller_deviation, lost_session, unreadable_recording, mono_recording; until then the call "
        "is not evaluated; own words belong in detail [exclusion_unknown]"
    )
    assert result.has_bad_input
    (record,) = result.records.values()
    assert record["n"] == 2
    assert "we did not like it" not in json.dumps(record)  # free text stays out of the record
    told = engine.validate([calls])
    assert [str(problem) for problem in told.problems] == [message]


def test_an_unreadable_bundle_among_several_agents_is_listed_and_is_no_agent(calls, tmp_path):
    _, second, third = bundles(calls)
    rewrite(second, agent={"name": "Another agent"})
    (third / "call.json").write_text("{")
    result = engine.score([calls], out=tmp_path / "RUN")
    assert len(result.records) == 2
    listed = result.decisions.filter(pl.col("agent_fingerprint").is_null())
    assert listed["state"].to_list() == ["excluded"]
    assert listed["call_id"][0].endswith(third.name)
    assert "unreadable_bundle" in listed["reasons"][0]
    assert result.tables["problems"]["code"].to_list() == ["json_invalid"]
    slots = len(json.loads((calls / "population.json").read_bytes())["scenarios"])
    by_agent = result.decisions.drop_nulls("agent_fingerprint").group_by("agent_fingerprint").len()
    assert set(by_agent["agent_fingerprint"]) == set(result.records)
    assert by_agent["len"].n_unique() == 1
    assert by_agent["len"][0] >= slots


CLOCK = '''
"""Imported by the interpreter at its start: a clock that is a year ahead."""
import datetime
import time

AHEAD_S = 366 * 86_400
_time = time.time
time.time = lambda: _time() + AHEAD_S
time.time_ns = lambda: int((_time() + AHEAD_S) * 1e9)


class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(_time() + AHEAD_S, tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.UTC).replace(tzinfo=None)


class LaterDate(datetime.date):
    @classmethod
    def today(cls):
        return Later.now().date()


datetime.datetime, datetime.date = Later, LaterDate
'''


def test_another_day_time_zone_and_file_time_change_no_byte(calls, project, tmp_path):
    engine.score([calls], out=tmp_path / "today")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(CLOCK)
    for path in calls.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    command = [sys.executable, "-P", "-m", "inquesto_core", "score"]
    done = subprocess.run(
        [*command, calls, "--out", tmp_path / "later", "--workers", "2"],
        env={
            **os.environ,
            "PYTHONPATH": f"{site}{os.pathsep}{project}",
            "TZ": "Pacific/Kiritimati",
            "LC_ALL": "C",
            "SOURCE_DATE_EPOCH": "1",
            "PYTHONHASHSEED": "7",
        },
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr.decode()  # the sample population has more calls
    today, later = (tmp_path / name for name in ("today", "later"))
    assert (later / "record.json").read_bytes() == (today / "record.json").read_bytes()
    moments = [
        json.loads((run / "manifest.json").read_bytes())["times"]["written_at"]
        for run in (today, later)
    ]
    assert int(moments[1][:4]) == int(moments[0][:4]) + 1  # the clock was another one
