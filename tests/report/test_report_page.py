from __future__ import annotations

import base64
import gzip
import json
import re

import polars as pl
import pytest

from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.report.html import ReportParts, report_page
from inquesto_core.report.html_calls import OUTCOMES, call_columns, in_order_of_severity
from inquesto_core.report.html_meaning import explained_marks
from inquesto_core.report.html_packing import coded, pack, shown
from inquesto_core.report.html_record import agent_view
from inquesto_core.report.html_redact import HIDDEN, redact_decisions
from inquesto_core.report.html_slices import LATENCY_BINS, slice_rates, waits_of
from inquesto_core.score.tables import decision_schema

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = load_population(PROTOCOL.default_population, PROTOCOL)
EVENTS = tuple(event.name for event in PROTOCOL.events)


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def make_decisions(*rows):
    plain = {
        "state": "scored",
        "reasons": [],
        "goal": True,
        "worst_severity": 0,
        "passed": True,
        "known_fail": False,
        "borderline": False,
        "fragile_limits": [],
        "agent_fingerprint": "sha256:1",
        **{f"event_{name}": False for name in EVENTS},
    }
    named = [{"call_id": f"c{at}", **plain, **row} for at, row in enumerate(rows)]
    return pl.DataFrame(named, schema=decision_schema(EVENTS))


def make_parts(**given):
    parts = {
        "agents": (),
        "columns": {"columns": {}, "events": [], "outcomes": []},
        "blocks": (),
        "protocol": {
            "level": "95",
            "fail_at": 3,
            "status": "draft",
            "severities": [{"level": 3, "name": "functional failure"}],
        },
    }
    return ReportParts(**{**parts, **given})


def test_packed_data_holds_no_mark_of_html_and_is_the_same_each_time():
    value = {"text": "</script><!--\u2028", "n": 1}
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", pack(value))
    assert pack(value) == pack(value)
    assert unpacked(pack(value)) == {"text": "</script><!--\\u2028", "n": 1}


def test_a_line_break_of_a_text_stays_and_what_steers_is_shown():
    assert shown({"a": ["one\ntwo\x1b[0m\u202e"]}) == {"a": ["one\ntwo\\x1b[0m\\u202e"]}


def test_a_number_that_json_cannot_say_is_not_known():
    assert shown([float("nan"), float("inf"), 1.5]) == [None, None, 1.5]


def test_a_coded_column_gives_every_row_back():
    column = coded(["b", None, "b", "a"])
    assert [column["values"][at] for at in column["at"]] == ["b", None, "b", "a"]


def test_every_mark_of_a_citation_line_is_explained():
    line = (
        "Inquesto v0.1/x [draft] [judge: some.gguf] [asr: base] [timing reported] "
        "[incomplete 1/2; 0.0–50.0 %] [excluded 1/3] [2 more timing-only] [partial] "
        "= 50.0% (95% CI 9.5–90.5; n = 2); views B – · R – · I – · F –"
    )
    marks = explained_marks(line)
    assert marks[0][0] == "[draft]"
    assert len(marks) == 8
    assert all(meaning for _, meaning in marks)


def test_brackets_behind_the_score_are_no_marks():
    assert explained_marks("Inquesto v0.1 = 1.0% [x]") == []


def test_calls_to_look_at_first_come_first():
    decisions = make_decisions(
        {"call_id": "passed"},
        {"call_id": "excluded", "state": "excluded", "passed": None},
        {"call_id": "s3", "passed": False, "worst_severity": 3},
        {"call_id": "open", "state": "not_evaluated", "passed": None},
        {"call_id": "s5", "passed": False, "worst_severity": 5},
        {"call_id": "fault", "state": "agent_fault", "passed": False},
        {"call_id": "sure", "state": "not_evaluated", "passed": None, "known_fail": True},
    )
    ordered = in_order_of_severity(decisions)
    assert ordered["call_id"].to_list() == [
        "s5",
        "s3",
        "fault",
        "sure",
        "open",
        "excluded",
        "passed",
    ]
    assert set(ordered["outcome"]) <= set(OUTCOMES)


def test_the_columns_of_calls_say_events_as_bits_and_pages_by_place():
    decisions = in_order_of_severity(
        make_decisions(
            {"passed": False, "event_slow_turn": True, "worst_severity": 3, "borderline": True}
        )
    )
    data = call_columns(
        decisions, names=["c0"], agents={"sha256:1": 0}, pages={"c0": 4}, protocol=PROTOCOL
    )
    bit = [name for name, _ in data["events"]].index("slow_turn")
    assert data["columns"]["events"] == [1 << bit]
    assert data["columns"]["page"] == [4]
    assert data["columns"]["flags"] == [1]


def test_slices_count_complete_calls_alone():
    decisions = make_decisions(
        {"condition": "clean"},
        {"condition": "clean", "passed": False},
        {"condition": "clean", "state": "not_evaluated", "passed": None},
        {"condition": "babble", "state": "excluded", "passed": None},
    )
    rows = slice_rates(decisions, "condition", protocol=PROTOCOL)
    assert [(row["name"], row["n"], row["passed"]) for row in rows] == [("clean", 2, 1)]


def test_waits_are_binned_and_the_last_bar_holds_all_beyond():
    decisions = make_decisions({"group": "a"}, {"group": "b"})
    replies = pl.DataFrame(
        {
            "call_id": ["c0", "c0", "c1", "c1"],
            "status": ["replied", "replied", "replied", "no_reply"],
            "latency_ms": [100, 99_999, 300, None],
        }
    )
    (everything,) = waits_of(replies, decisions, None, bin_ms=100)
    assert (everything.n, everything.longest_ms) == (3, 99_999)
    assert [at for at, bar in enumerate(everything.bars) if bar] == [1, 3, LATENCY_BINS - 1]
    assert [row.name for row in waits_of(replies, decisions, "group", bin_ms=100)] == ["a", "b"]


def test_a_label_that_the_population_does_not_name_is_redacted():
    known = POPULATION.conditions[0]
    decisions = make_decisions({"condition": known}, {"condition": "Mr Smith"}, {"condition": None})
    shown_rows = redact_decisions(decisions, POPULATION)["condition"].to_list()
    assert shown_rows == [known, HIDDEN, None]


def test_the_policy_of_the_page_forbids_every_request():
    page = report_page(make_parts())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = policy.replace("&#39;", "'")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    assert rules.pop("media-src") == "blob:"
    assert set(rules) == {"style-src", "script-src"}
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rule) for rule in rules.values())


def test_the_page_names_no_address_that_it_could_ask():
    page = report_page(make_parts())
    found = set(re.findall(r"[a-z]+://[^\s\"'<>]+", page))
    assert found == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<iframe|<img|@import|url\((?!#)", page)


def test_what_an_agent_is_called_is_written_as_text():
    name = '</title><script>alert(1)</script>"\u202e'
    record = {
        "protocol": "inquesto-0.1",
        "agent": name,
        "agent_fingerprint": "sha256:1",
        "n": 0,
        "passed": 0,
        "score": None,
        "ci95": [None, None],
        "citation": f"Inquesto v0.1 [judge: {name}] = no score (n = 0)",
        "views": {},
        "failures_by_severity": {},
        "failures_by_type": {},
        "severity_sensitivity": {},
        "audio_only": {
            "failed": 0,
            "failed_only_on_audio_events": 0,
            "score_if_transcript_only": None,
        },
        "signature": {"text": "inquesto:0.1"},
    }
    tables = {
        "replies": pl.DataFrame(schema={"status": pl.String}),
        "verdicts": pl.DataFrame(schema={"call_id": pl.String, "question": pl.String}),
    }
    agent = agent_view(
        record,
        index=0,
        tables=tables,
        decisions=make_decisions(),
        protocol=PROTOCOL,
        population=POPULATION,
    )
    page = report_page(make_parts(agents=(agent,)))
    assert "<script>alert" not in page
    assert "&lt;/title&gt;&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert "No call could be scored" in page


@pytest.mark.parametrize("name", ["report.html", "report.css", "report.js", "table.js"])
def test_the_files_of_the_page_lie_in_the_package(name):
    from importlib import resources

    assert resources.files("inquesto_core.report").joinpath("page", name).is_file()


def test_scripts_never_read_a_text_as_markup():
    from importlib import resources

    folder = resources.files("inquesto_core.report").joinpath("page")
    for file in folder.iterdir():
        if file.name.endswith(".js"):
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function",
                file.read_text("utf-8"),
            )
