"""Reports of runs on disk: what is in the file, and what is not."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from inquesto_core.engine.report import byte_count, report
from inquesto_core.engine.report_sound import BEFORE_MS
from inquesto_core.errors import IncomparableError, StoreError


def block(page: str, name: str):
    packed = re.search(rf'id="{name}">([^<]*)<', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def everything(page: str) -> str:
    """Return the page with all that is packed in it."""
    ids = re.findall(r'id="((?:data|pages)-[\w]+)"', page)
    return page + json.dumps([block(page, name) for name in ids], ensure_ascii=False)


@pytest.fixture(scope="module")
def page(report_run, tmp_path_factory):
    done = report(report_run, out=tmp_path_factory.mktemp("page") / "r.html", audio="none")
    return done.path.read_text("utf-8")


def test_every_call_has_a_row_and_a_page(page):
    columns = block(page, "data-columns")["columns"]
    pages = block(page, "pages-0")
    assert len(columns["call"]) == 12
    assert sorted(pages, key=int) == [str(at) for at in range(12)]
    assert [pages[str(at)]["call"] for at in range(12)] == columns["call"]


def test_a_failed_call_shows_events_trace_verdicts_and_cited_lines(page):
    calls = block(page, "pages-0").values()
    failed = next(call for call in calls if any(e["type"] == "slow_turn" for e in call["events"]))
    event = next(e for e in failed["events"] if e["type"] == "slow_turn")
    assert event["value"] - event["threshold"] == event["margin"] > 0
    assert any(row["events"] == ["slow_turn"] for row in failed["replies"])
    assert any(row["cited"] for call in calls for row in call["transcript"])
    assert any(row["reason"] for row in failed["verdicts"])
    assert any(row["given"] for call in calls for row in call["tools"])


def test_the_same_run_gives_the_same_page(report_run, page, tmp_path):
    again = report(report_run, out=tmp_path / "again.html", audio="none")
    assert again.path.read_text("utf-8") == page


def test_without_sources_the_report_says_why_it_is_silent(report_run, tmp_path):
    done = report(report_run, out=tmp_path / "r.html")
    assert done.clips == 0
    assert done.clips_left_out > 0
    assert "--source" in " ".join(done.notes)
    assert done.path.stat().st_mode & 0o077 == 0


def test_sound_lies_around_each_event_as_ogg_opus(sound_report):
    import soundfile

    done = sound_report
    page = done.path.read_text("utf-8")
    clips, pages = block(page, "data-clips"), block(page, "pages-0")
    assert done.clips == sum(map(len, clips.values())) > 0
    assert done.clips_left_out == 0
    for place, rows in clips.items():
        for clip in rows:
            data = base64.b64decode(re.search(rf'id="sound-{clip["data"]}">([^<]*)<', page)[1])
            info = soundfile.info(io.BytesIO(data))
            assert (info.format, info.subtype, info.channels) == ("OGG", "OPUS", 2)
            assert abs(info.duration * 1000 - (clip["to"] - clip["from"])) < 60
        for event in pages[place]["events"]:
            if event["at"] is not None:
                before = min(BEFORE_MS, event["at"])
                assert any(clip["from"] <= event["at"] - before < clip["to"] for clip in rows)


def test_what_does_not_fit_is_left_out_and_told_the_most_severe_first(
    report_run, twelve_calls, tmp_path
):
    done = report(report_run, out=tmp_path / "r.html", sources=[twelve_calls], audio_budget="100kB")
    page = done.path.read_text("utf-8")
    assert done.clips > 0
    assert done.clips_left_out > 0
    assert f"{done.clips_left_out} did not fit into 0.1 MB" in page
    held = [
        re.findall(r"\(S(\d)\)", clip["label"])[0]
        for rows in block(page, "data-clips").values()
        for clip in rows
    ]
    worst = max(e["severity"] for call in block(page, "pages-0").values() for e in call["events"])
    assert str(worst) in held


def test_a_recording_that_is_not_the_scored_one_is_not_played(report_run, twelve_calls, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(twelve_calls, other)
    for sound in other.glob("*/audio.ogg"):
        sound.write_bytes(sound.read_bytes() + b"\0")
    done = report(report_run, out=tmp_path / "r.html", sources=[other])
    assert done.clips == 0
    assert "not the one that was scored" in " ".join(done.notes)


def test_whole_calls_lie_as_files_beside_the_page(report_run, twelve_calls, tmp_path):
    done = report(report_run, out=tmp_path / "all", sources=[twelve_calls], audio="all")
    page = done.path.read_text("utf-8")
    files = {clip["file"] for rows in block(page, "data-clips").values() for clip in rows}
    assert len(files) == 12
    assert all((tmp_path / "all" / name).stat().st_size > 1000 for name in files)


def test_a_redacted_report_holds_no_word_name_argument_or_id(marked_run, tmp_path):
    marked = marked_run
    ids = pl.read_parquet(marked / "calls.parquet")["call_id"].to_list()
    plain = everything(report(marked, out=tmp_path / "p.html", audio="none").path.read_text())
    assert "MARKER-transcript-heard_text" in plain
    assert "MARKER-verdicts-reason" in plain
    done = report(marked, out=tmp_path / "r.html", redact=True)
    text = everything(done.path.read_text("utf-8"))
    assert "MARKER" not in text
    assert not [call_id for call_id in ids if call_id in text]
    assert done.pages == 12


def test_a_redacted_report_names_calls_as_the_record_does(report_run, tmp_path):
    page = report(report_run, out=tmp_path / "r.html", redact=True).path.read_text("utf-8")
    named = set(block(page, "data-columns")["columns"]["call"])
    assert all(re.fullmatch(r"[0-9a-f]{16}", name) for name in named)
    record = json.loads((report_run / "record.json").read_bytes())
    assert {row["call"] for row in record["accounting"]["calls"] if row["call"]} <= named


def test_text_from_outside_lies_in_the_page_only_as_text(hostile_run, tmp_path):
    page = report(hostile_run, out=tmp_path / "r.html", audio="none").path.read_text("utf-8")
    text = everything(page)
    assert "<img src=x" not in page
    assert page.count("<script") == page.count("</script>")
    assert not re.search("[\u202e\u2066\u200b\x00\x1b]", text)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"audio": "loud"}, "--audio loud", id="unknown_audio"),
        pytest.param({"audio": "all"}, "without --source", id="all_without_source"),
        pytest.param(
            {"audio": "all", "redact": True, "sources": ["x"]}, "--redact", id="all_redacted"
        ),
        pytest.param({"audio_budget": "much"}, "is no size", id="no_size"),
        pytest.param({"audio_budget": "-1MB"}, "is no size", id="negative"),
    ],
)
def test_options_that_make_no_sense_are_refused(report_run, tmp_path, given, expected):
    with pytest.raises(IncomparableError, match=expected):
        report(report_run, out=tmp_path / "r.html", **given)
    assert not list(tmp_path.iterdir())


def test_another_file_is_not_written_over_and_an_earlier_report_is(report_run, tmp_path):
    place = tmp_path / "r.html"
    place.write_text("<!DOCTYPE html>\n<p>my own page", encoding="utf-8")
    with pytest.raises(StoreError, match="is no report"):
        report(report_run, out=place, audio="none")
    assert "my own page" in place.read_text("utf-8")
    place.unlink()
    for _ in range(2):
        report(report_run, out=place, audio="none")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_by_default_the_page_lies_beside_the_run(report_run, tmp_path):
    run = Path(shutil.copytree(report_run, tmp_path / "march"))
    done = report(run, audio="none")
    assert done.path == tmp_path.resolve() / "march.html"
    assert sorted(path.name for path in run.iterdir()) == sorted(
        path.name for path in report_run.iterdir()
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("25MB", 25_000_000), ("1.5KiB", 1536), ("2 GB", 2_000_000_000), ("7k", 7000)],
)
def test_sizes_are_read_with_their_units(text, size):
    assert byte_count(text) == size


def test_the_command_writes_the_page_and_says_what_is_in_it(report_run, tmp_path):
    from click.testing import CliRunner

    from inquesto_core.cli import cli

    place = tmp_path / "r.html"
    done = CliRunner().invoke(
        cli, ["report", str(report_run), "--audio", "none", "--out", str(place)]
    )
    assert done.exit_code == 0, done.output
    assert "12 calls, 12 with a page, 0 with sound" in done.output
    assert place.read_bytes().startswith(b"<!DOCTYPE html>\n<!-- inquesto-core report -->")


def test_a_run_without_evidence_is_shown_without_pages(report_run, tmp_path):
    run = shutil.copytree(report_run, tmp_path / "RUN")
    manifest = json.loads((run / "manifest.json").read_bytes())
    manifest["outputs"] = [
        each for each in manifest["outputs"] if not each["file"].startswith("evidence/")
    ]
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    shutil.rmtree(run / "evidence")
    done = report(run, out=tmp_path / "r.html")
    assert (done.listed, done.pages) == (12, 0)
    assert "no evidence" in " ".join(done.notes)


def test_a_run_in_partitions_has_pages_too(report_run, twelve_calls, tmp_path, monkeypatch):
    from inquesto_core import engine
    from inquesto_core.engine import partitions

    monkeypatch.setattr(partitions, "CALLS_A_PART", 4)
    engine.score([twelve_calls], out=tmp_path / "RUN", workers=1)
    whole = report(report_run, out=tmp_path / "w.html", audio="none").path.read_text("utf-8")
    done = report(tmp_path / "RUN", out=tmp_path / "r.html", audio="none")
    text = done.path.read_text("utf-8")
    pages, others = block(text, "pages-0"), block(whole, "pages-0")
    assert done.pages == 12
    assert "as the record sums them up" in text
    assert {at: page["line"] for at, page in pages.items()} == {
        at: page["line"] for at, page in others.items()
    }
