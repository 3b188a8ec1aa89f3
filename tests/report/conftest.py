"""A scored run of twelve sample calls, and the same with what an attacker might have written."""

from __future__ import annotations

import shutil

import polars as pl
import pytest
from edited_runs import as_written

#: What no page may run, reorder or hide.
HOSTILE = (
    '</script><script>window.attacked=1</script><img src=x onerror="window.attacked=1">'
    "<!--\u202egnp.exe\u2066\u200b{{7*7}}{% raw %}&lt;\u0000\x1b[2J"
)
#: Columns of free text, by table.
FREE_TEXT = {
    "calls": ("agent_name", "platform", "ended_reason"),
    "tool_calls": ("id", "name", "raw_arguments"),
    "transcript": ("text", "heard_text", "origin"),
    "verdicts": ("reason", "model", "raw"),
    "media": ("file",),
    "problems": ("file", "pointer", "message"),
}


@pytest.fixture(scope="session")
def report_run(twelve_calls, tmp_path_factory):
    """Return the folder of a run of twelve sample calls."""
    from inquesto_core import engine

    folder = tmp_path_factory.mktemp("report") / "RUN"
    engine.score([twelve_calls], out=folder, workers=1)
    return folder


@pytest.fixture(scope="session")
def sound_report(report_run, twelve_calls, tmp_path_factory):
    """Return the report of that run with the sound around its events, as it was written."""
    from inquesto_core import engine

    place = tmp_path_factory.mktemp("sound") / "r.html"
    return engine.report(report_run, out=place, sources=[twelve_calls])


def with_text(run, folder, text):
    """Return a copy of a run with `text` in every column of free text, each with its place."""
    shutil.copytree(run, folder)
    for table, columns in FREE_TEXT.items():
        file = folder / "evidence" / f"{table}.parquet"
        frame = pl.read_parquet(file)
        if table == "problems":
            ids = pl.read_parquet(folder / "calls.parquet")["call_id"].head(1)
            frame = pl.DataFrame(
                {"call_id": ids, "level": ["warning"], "code": ["audio_missing"]}
            ).with_columns(file=pl.lit(""), pointer=pl.lit(""), message=pl.lit(""))
        frame = frame.with_columns(
            pl.lit(f"{text}-{table}-{column}").alias(column) for column in columns
        )
        if table == "tool_calls":
            value = f'{{"{text}-key":"{text}-value"}}'.replace("\x00", "").replace("\x1b", "")
            frame = frame.with_columns(arguments=pl.lit(value), result=pl.lit(value))
        frame.write_parquet(file)
    return as_written(folder)


@pytest.fixture(scope="session")
def hostile_run(report_run, tmp_path_factory):
    """Return a run whose free text is an attack."""
    return with_text(report_run, tmp_path_factory.mktemp("hostile") / "RUN", HOSTILE)


@pytest.fixture(scope="session")
def marked_run(report_run, tmp_path_factory):
    """Return a run whose free text is marked."""
    return with_text(report_run, tmp_path_factory.mktemp("marked") / "RUN", "MARKER")
