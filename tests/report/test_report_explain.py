from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.errors import StoreError
from inquesto_core.evidence import TABLES, empty_table, make_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.report.escape import display_width
from inquesto_core.report.explain import explain_facts, explain_lines
from inquesto_core.report.timeline_text import format_time, timeline_lines
from inquesto_core.score.tables import decision_schema

PROTOCOL = load_protocol("inquesto-0.1")
EVENT_NAMES = tuple(event.name for event in PROTOCOL.events)
HOSTILE = "a\x1b[2Jb\u202ec\u200bd\ne"


def make_decisions(*rows: dict[str, object]) -> pl.DataFrame:
    plain = {
        "call_id": "c1",
        "state": "scored",
        "reasons": [],
        "goal": True,
        "worst_severity": 0,
        "passed": True,
        "known_fail": False,
        "borderline": False,
        "fragile_limits": [],
        **{f"event_{name}": False for name in EVENT_NAMES},
    }
    return pl.DataFrame([{**plain, **row} for row in rows], schema=decision_schema(EVENT_NAMES))


def make_tables(**rows: list[dict[str, object]]) -> dict[str, pl.DataFrame]:
    call = {
        "timing_source": "measured",
        "timing_reasons": [],
        "warnings": [],
        "duration_ms": 15_000,
        "window_from_ms": 0,
        "window_to_ms": 15_000,
    }
    rows["calls"] = [{**call, **row} for row in rows.get("calls", [{}])]
    return {
        name: make_table(name, [{"call_id": "c1", **row} for row in rows[name]])
        if name in rows
        else empty_table(name)
        for name in TABLES
    }


def sounds(channel: str, *spans: tuple[int, int], rejected: str | None = None):
    return [
        {"channel": channel, "start_ms": start, "end_ms": end, "rejected": rejected}
        for start, end in spans
    ]


def slow_turn(**row: object) -> dict[str, object]:
    return {
        "type": "slow_turn",
        "severity": 3,
        "at_ms": 2000,
        "end_ms": 5001,
        "value": 3001,
        "threshold": 3000,
        "margin_ms": 1,
        "source": "audio",
        "counted": True,
        "evidence_key": "replies/0",
        **row,
    }


def explain(tables: dict[str, pl.DataFrame], **decision: object) -> str:
    return "\n".join(explain_lines("c1", tables, make_decisions(decision), PROTOCOL))


def why(tables: dict[str, pl.DataFrame], **decision: object) -> str:
    return explain_facts("c1", tables, make_decisions(decision), PROTOCOL)["why"]


def lanes(tables: dict[str, pl.DataFrame]) -> dict[str, str]:
    """Return the drawn lanes of a call of one row, by name."""
    facts = explain_facts("c1", tables, make_decisions({}), PROTOCOL)
    found = {}
    for line in timeline_lines(facts):
        name = line[7:13].strip()
        if name in {"caller", "agent", "wait", "tools", "events"} and not line[:2].strip():
            found[name] = line[15:75]
    return found


def test_a_passed_call_says_that_nothing_failed_it():
    assert why(make_tables()) == (
        "Passed: its goal was reached and no event is of severity S3 or above."
    )


def test_an_event_of_severity_2_is_never_named_as_the_cause():
    text = why(make_tables(), passed=False, goal=False, event_talk_over=True)
    assert "talk_over" not in text
    assert text.startswith("Failed: the goal was not reached")


def test_a_failing_event_is_named_with_severity_time_and_margin():
    tables = make_tables(
        events=[slow_turn(), slow_turn(at_ms=9000, margin_ms=700, evidence_key="replies/1")]
    )
    text = why(tables, passed=False, event_slow_turn=True)
    assert "slow_turn (S3: a reply > 3000 ms after the caller stops, or no reply)" in text
    assert "found twice, first at 0:02.000, the largest 700 ms over its limit" in text
    assert "goal" not in text


def test_the_most_severe_cause_stands_first_and_the_goal_last():
    text = why(
        make_tables(), passed=False, goal=False, event_slow_turn=True, event_false_accept=True
    )
    assert text.index("false_accept") < text.index("slow_turn") < text.index("goal was not")


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(False, "as the judge reads it: No refund.", id="judge_says_no"),
        pytest.param(True, "the judge read success, trace or state", id="judge_says_yes"),
        pytest.param(None, "as trace and state show", id="judge_cannot_tell"),
    ],
)
def test_a_missed_goal_says_whose_reading_it_is(verdict, expected):
    row = {"question": PROTOCOL.goal_question, "verdict": verdict, "reason": "No refund."}
    assert expected in why(make_tables(verdicts=[row]), passed=False, goal=False)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(False, "as the answer recorded with the call has it: No refund.", id="no"),
        pytest.param(True, "the recorded answer is success, trace or state", id="yes"),
    ],
)
def test_an_answer_that_is_stored_with_the_call_is_not_called_the_judges(verdict, expected):
    row = {"question": PROTOCOL.goal_question, "verdict": verdict, "reason": "No refund."}
    row["source"] = "recorded"
    text = why(make_tables(verdicts=[row]), passed=False, goal=False)
    assert expected in text
    assert "judge" not in text


def test_without_a_judge_the_judge_free_goal_is_the_cause():
    text = why(make_tables(), passed=False, goal=None, goal_judge_free=False)
    assert text == "Failed: the goal was not reached, as trace and state show."


def test_an_open_call_says_why_and_whether_it_has_failed_all_the_same():
    decision = {
        "state": "not_evaluated",
        "passed": None,
        "goal": None,
        "reasons": ["verdict_missing:wrong_info"],
    }
    text = why(make_tables(), **decision)
    assert text == (
        "Not evaluated, because the judge's answer is missing (verdict_missing:wrong_info)."
    )
    failed = why(make_tables(), **decision, known_fail=True, event_slow_turn=True)
    assert "certainly failed all the same: slow_turn" in failed


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("excluded", "mono_recording", "Outside n: both sides are on one channel"),
        ("agent_fault", "crash", "agent's side broke the call off: the agent crashed (crash)"),
        ("excluded", "something_new", "Outside n: something_new."),
    ],
)
def test_a_call_that_is_not_scored_gives_its_reason(state, reason, expected):
    assert expected in why(make_tables(), state=state, passed=None, reasons=[reason])


def test_a_borderline_call_says_so():
    assert "Borderline" in why(make_tables(), borderline=True)


def test_an_unknown_call_is_refused_with_the_ids_that_come_close():
    decisions = make_decisions({"call_id": "call-0412"}, {"call_id": "other"}, {"call_id": None})
    with pytest.raises(StoreError, match=r"no call 'call-0413'.*'call-0412'") as caught:
        explain_lines("call-0413", make_tables(), decisions, PROTOCOL)
    assert caught.value.problem.code == "call_unknown"
    with pytest.raises(StoreError, match="such as 'call-0412'"):
        explain_facts("0412", make_tables(), decisions, PROTOCOL)


def test_sound_is_drawn_to_scale_and_the_column_it_touches_is_marked():
    drawn = lanes(make_tables(segments=sounds("caller", (1000, 2000), (5100, 5110))))
    assert drawn["caller"] == " " * 4 + "####" + " " * 12 + "#" + " " * 39
    assert drawn["agent"].strip() == ""


@pytest.mark.parametrize(
    ("agent_from", "expected"),
    [pytest.param(1999, "###X", id="one_ms_shared"), pytest.param(2000, "####", id="touching")],
)
def test_an_overlap_needs_shared_time(agent_from, expected):
    segments = sounds("caller", (1000, 2000)) + sounds("agent", (agent_from, 3000))
    assert lanes(make_tables(segments=segments))["caller"][4:8] == expected


def test_rejected_sound_pauses_and_the_window_have_marks_of_their_own():
    tables = make_tables(
        calls=[{"window_from_ms": 1000, "window_to_ms": 14_000}],
        segments=[
            *sounds("caller", (2000, 3000), (3500, 4000)),
            *sounds("caller", (6000, 6500), rejected="echo"),
        ],
        utterances=[{"position": 0, "start_ms": 2000, "end_ms": 4000}],
    )
    assert lanes(tables)["caller"] == "....    ####--##        ee" + " " * 30 + "...."
    text = explain(tables)
    assert "e not counted: echo of the other side" in text
    assert "- pause within" in text and ". not scored" in text
    assert "X both at once" not in text


def test_the_most_severe_event_stays_visible_where_two_begin():
    tables = make_tables(
        events=[slow_turn(), slow_turn(type="false_accept", severity=5, end_ms=None)],
        tool_calls=[{"position": 0, "name": "x", "start_ms": 500, "end_ms": 1000}],
    )
    drawn = lanes(tables)
    assert drawn["events"].strip() == "5" + "~" * 12 + " false_accept, slow_turn"
    assert drawn["tools"].strip() == "T= x"


def test_rows_without_anything_are_one_line():
    tables = make_tables(
        calls=[{"duration_ms": 60_000, "window_to_ms": 60_000}],
        segments=sounds("agent", (0, 1000), (50_000, 51_000)),
    )
    text = explain(tables)
    assert "  0:15 (nothing until 0:45)" in text
    assert text.count("caller |") == 2


def test_a_long_call_takes_a_coarser_scale():
    tables = make_tables(
        calls=[{"duration_ms": 14_000_000, "window_to_ms": 14_000_000}],
        segments=sounds("agent", *((at, at + 500) for at in range(0, 14_000_000, 10_000))),
    )
    text = explain(tables)
    assert "a row is 600 s" in text
    assert text.count("agent  |") == 24


def test_a_call_without_times_says_so():
    tables = make_tables(calls=[{"duration_ms": None, "window_to_ms": None}])
    assert "nothing of this call has a time" in explain(tables)


@pytest.mark.parametrize(
    ("at_ms", "expected"),
    [(0, "0:00.000"), (59_999, "0:59.999"), (60_000, "1:00.000"), (-20, "-0:00.020"), (None, "–")],
)
def test_times_are_minutes_and_seconds(at_ms, expected):
    assert format_time(at_ms) == expected


def test_every_section_shows_its_evidence():
    text = explain(
        make_tables(
            events=[slow_turn()],
            replies=[
                {
                    "utterance": 0,
                    "start_ms": 1000,
                    "end_ms": 2000,
                    "status": "replied",
                    "clock_ms": 2000,
                    "latency_ms": 3001,
                },
                {"utterance": 1, "start_ms": 9000, "end_ms": 9500, "status": "overlapped"},
            ],
            talk_overs=[
                {
                    "turn": 2,
                    "utterance": 1,
                    "at_ms": 9100,
                    "value_ms": 400,
                    "kind": "cut_in",
                    "short": True,
                    "counted": False,
                }
            ],
            tool_calls=[
                {"position": 0, "name": "refund", "status": "error", "raw_arguments": "{bad"}
            ],
            transcript=[
                {
                    "position": 0,
                    "speaker": "caller",
                    "start_ms": 1000,
                    "end_ms": 2000,
                    "text": "Hello.",
                },
                {"position": 1, "speaker": "agent", "text": "It is $9.", "heard_text": "It is"},
            ],
            verdicts=[
                {"question": "wrong_info", "verdict": True, "turn": 1, "reason": "Not $9."},
                {"question": "goal_achieved", "verdict": None},
            ],
            media=[{"channel": "caller", "file": "a.flac", "sample_rate_hz": 8000}],
            problems=[{"level": "warning", "code": "odd", "file": "t.json", "message": "is odd"}],
        ),
        passed=False,
        event_slow_turn=True,
    )
    for expected in (
        " *slow_turn          3   0:02.000   3001   3000      +1  audio: C0",
        "    a reply > 3000 ms after the caller stops, or no reply",
        "  C0   0:01.000–0:02.000  reply after 3001 ms [slow_turn]",
        '      L0: "Hello."',
        "no wait: the agent speaks from before its start to",
        "A2 begins at 0:09.100, 400 ms before C1 ends: in a pause of the caller's, a short",
        "error  refund\n       given  {bad",
        "  L0    0:01.000 caller Hello.",
        " >L1           – agent  It is",
        "(written, not all heard: It is $9.)",
        "<- wrong_info",
        "wrong_info yes (L1): Not $9.",
        "goal_achieved undetermined",
        "caller a.flac, 8000 Hz",
        "warning odd: is odd (t.json)",
    ):
        assert expected in " ".join(text.split("\n    ")) or expected in text


def judged_row(**values):
    row = {"question": "wrong_info", "verdict": True, "source": "judge", "model": "m"}
    return {**row, "p_true": 0.6, "p_false": 0.2, "raw": '{"verdict":true', **values}


@pytest.mark.parametrize(
    ("p_false", "margin", "expected"),
    [
        (0.2, 0.5, "margin 0.500 of both (limit 0.2)"),
        (0.3999, 0.2001, "margin 0.200 of both (limit 0.2)"),
        (0.4001, 0.1999, "(FRAGILE, less than 0.2)"),
    ],
    ids=["clear", "above-the-limit", "fragile"],
)
def test_how_sure_the_judge_was_stands_beside_its_answer(p_false, margin, expected):
    tables = make_tables(verdicts=[judged_row(p_false=p_false, turn=3, reason="It is $9.")])
    text = explain(tables)
    assert "wrong_info yes (L3): It is $9." in text
    assert expected in " ".join(text.split())
    (row,) = explain_facts("c1", tables, make_decisions({}), PROTOCOL)["verdicts"]
    assert row["margin"] == pytest.approx(margin, abs=1e-4)
    assert row["fragile"] is ("FRAGILE" in expected)
    assert row["raw"] == '{"verdict":true'


def test_what_is_no_answer_is_shown_as_it_was_written():
    row = judged_row(verdict=None, undetermined="judge_unparseable", raw='{"verdict":true,"tu\x1b')
    text = " ".join(explain(make_tables(verdicts=[row])).split())
    assert "wrong_info undetermined (judge_unparseable: what the judge wrote is not exact" in text
    assert 'wrote {"verdict":true,"tu\\x1b' in text


@pytest.mark.parametrize(
    ("sha256", "pinned"), [("a" * 64, False), (PROTOCOL.instruments.judge.sha256, True)]
)
def test_answers_of_another_judge_than_the_pinned_are_no_score_and_are_told_so(sha256, pinned):
    tables = make_tables(verdicts=[judged_row(model_sha256=sha256)])
    text = " ".join(explain(tables).split())
    assert ("no score of the call" in text, "not the judge that the protocol pins" in text) == (
        not pinned,
        not pinned,
    )
    (row,) = explain_facts("c1", tables, make_decisions({}), PROTOCOL)["verdicts"]
    assert row["pinned"] is pinned


@pytest.mark.parametrize(
    ("undetermined", "said"),
    [
        ("too_long", "Not evaluated, because prompt and answer do not fit the context"),
        ("no_transcript", "Not evaluated, because there is no transcript to read, or nothing in"),
        ("undecided", "Not evaluated, because true and false are equally likely"),
    ],
)
def test_the_headline_says_why_the_judge_has_no_answer(undetermined, said):
    row = judged_row(question="goal_achieved", verdict=None, undetermined=undetermined)
    reasons = ["verdict_undetermined:goal_achieved"]
    assert why(
        make_tables(verdicts=[row]), state="not_evaluated", passed=None, reasons=reasons
    ).startswith(said)


def test_many_reasons_of_one_kind_are_told_once_with_their_number():
    reasons = [f"predicate_undetermined:{at}" for at in range(19)]
    assert why(make_tables(), state="not_evaluated", passed=None, reasons=reasons) == (
        "Not evaluated, because a predicate of the scenario cannot be decided "
        "(predicate_undetermined:0), and 18 more of that kind."
    )


def test_a_recorded_verdict_has_no_margin():
    row = {"question": "wrong_info", "verdict": True, "source": "recorded"}
    tables = make_tables(verdicts=[row])
    (kept,) = explain_facts("c1", tables, make_decisions({}), PROTOCOL)["verdicts"]
    assert (kept["margin"], kept["fragile"]) == (None, None)
    assert "margin" not in explain(tables)


def hostile_tables(text: str) -> dict[str, pl.DataFrame]:
    return make_tables(
        calls=[{"agent_name": text, "warnings": [text]}],
        events=[slow_turn(evidence_key=text)],
        tool_calls=[
            {"position": 0, "name": text, "arguments": text, "result": text, "status": "ok"}
        ],
        transcript=[{"position": 0, "speaker": "agent", "text": text, "heard_text": text + "!"}],
        verdicts=[{"question": text, "verdict": True, "turn": 0, "reason": text, "model": text}],
        media=[{"channel": "agent", "file": text, "dc_offset": float("nan")}],
        problems=[{"level": "error", "code": "x", "file": text, "message": text}],
    )


def test_text_from_outside_never_steers_the_terminal():
    shown = explain(hostile_tables(HOSTILE), scenario_id=HOSTILE, reasons=[HOSTILE])
    assert "\x1b" not in shown and "\u202e" not in shown and "\u200b" not in shown
    assert "a\\x1b[2Jb\\u202ec\\u200bd\\ne" in shown


@given(text=st.text(min_size=1, max_size=200))
def test_no_line_is_wider_than_a_terminal(text):
    decision = {"scenario_id": text, "reasons": [text], "fragile_limits": [text]}
    lines = explain_lines("c1", hostile_tables(text), make_decisions(decision), PROTOCOL)
    assert max(map(display_width, lines)) <= 80
    assert not any("\n" in line or "\r" in line for line in lines)


def test_the_facts_are_json_and_a_number_that_is_not_finite_is_null():
    facts = explain_facts("c1", hostile_tables("x"), make_decisions({}), PROTOCOL)
    again = json.loads(json.dumps(facts, allow_nan=False))
    assert again == facts
    assert facts["media"][0]["dc_offset"] is None
    assert facts["transcript"][0]["cited_by"] == ["x"]


def test_only_the_call_asked_for_is_shown():
    tables = make_tables(
        transcript=[
            {"position": 0, "speaker": "agent", "text": "mine"},
            {"call_id": "c2", "position": 0, "speaker": "agent", "text": "theirs"},
        ]
    )
    assert "mine" in explain(tables) and "theirs" not in explain(tables)


def test_what_is_measured_outside_the_score_is_shown_and_stands_in_the_facts():
    times = {"start_ms": 1000, "end_ms": 2000}
    tables = make_tables(
        replies=[
            {**times, "utterance": 0, "status": "replied", "latency_ms": 800, "tool_in_wait": True},
            {**times, "utterance": 1, "status": "replied", "latency_ms": 90, "tool_in_wait": False},
        ],
        barge_ins=[
            {
                "utterance": at,
                "turn": 1,
                "at_ms": 5000,
                "caller_end_ms": 7000,
                "agent_end_ms": agent_end_ms,
                "kind": "attempt",
                "outcome": outcome,
                "yield_ms": 450 if outcome == "yielded" else None,
            }
            for at, (outcome, agent_end_ms) in enumerate(
                (("yielded", 5450), ("kept", 9000), (None, 7200))
            )
        ],
        silences=[
            {"turn": 1, "at_ms": 9000, "end_ms": 14_000, "value_ms": 5000, "outcome": "agent_spoke"}
        ],
        tool_calls=[{"position": 0, "name": "look_up"}, {"position": 1, "name": "refund"}],
        tool_results=[
            {"position": 0, "at_ms": 1500, "outcome": "later_result"},
            {"position": 1, "at_ms": 1700, "outcome": "spoke", "first_sound_ms": 300},
        ],
    )
    sound = {"caller_voiced_ms": 2040, "agent_voiced_ms": 3000, "overlap_ms": 450}
    text = " ".join(explain(tables, **sound).split())
    for expected in (
        "speech: caller 2.0 s · agent 3.0 s · both at once 0.5 s",
        "reply after 800 ms, a tool call within",
        "reply after 90 ms",
        "C0 at 0:05.000 into A1, 2000 ms, an attempt to interrupt: the agent stops 450 ms after",
        "C1 at 0:05.000 into A1, 2000 ms, an attempt to interrupt: the agent goes on for 2000 ms",
        "an attempt to interrupt: the scored window closes before that is told",
        "from 0:09.000 for 5000 ms, then the agent speaks again",
        "another result comes before the agent speaks",
        "the agent is heard 300 ms after the result",
    ):
        assert expected in text
    assert "90 ms, a tool" not in text
    facts = explain_facts("c1", tables, make_decisions(sound), PROTOCOL)
    assert [row["yield_ms"] for row in facts["barge_ins"]] == [450, None, None]
    assert facts["silences"][0]["tool_inside"] is None
    assert facts["tool_results"][1]["first_sound_ms"] == 300
    assert facts["decision"]["overlap_ms"] == 450
    json.dumps(facts)


def heard(**row: object) -> str:
    """Return what is said of a caller's channel, in one line."""
    media = {"channel": "caller", "file": "a.flac", "background_near": False, **row}
    return " ".join(explain(make_tables(media=[media])).split())


def test_a_near_background_is_told_with_level_and_doubt_and_the_limit_of_the_doubt():
    text = heard(background_near=True, snr_db=8.62, separation=4.2, doubt=0.031)
    assert "background: near, the caller was told from it, 8.6 dB louder, 4.2 standard" in text
    limit = PROTOCOL.instruments.foreground.parameters["max_doubt"]
    assert f"doubt 0.03 (above {limit} timing is not evaluated)" in text
    assert "background: none that is near" in heard()


def test_an_echo_is_told_with_delay_gain_and_what_was_taken_away():
    text = heard(leak_delay_ms=120, leak_db=-19.96, leak_removed_db=9.5)
    assert "comes in 120 ms late at -20.0 dB, and was taken away (level falls by 9.5 dB" in text
    assert "echo: none found" in heard()


def test_rejected_sound_is_summed_by_its_reason():
    tables = make_tables(
        media=[{"channel": "caller"}, {"channel": "agent"}],
        segments=[
            *sounds("caller", (0, 500), (800, 1500), rejected="background"),
            *sounds("caller", (2000, 2100), rejected="dtmf"),
            *sounds("agent", (0, 300), rejected="a_new_reason"),
        ],
    )
    text = explain(tables)
    assert "not counted: 1.2 s behind the party (background, 2 stretches)" in text
    assert "not counted: 0.1 s keypad tone (dtmf, 1 stretch)" in text
    assert "not counted: 0.3 s a_new_reason (a_new_reason, 1 stretch)" in text
    assert "o not counted" in text


def wait(**row: object) -> dict[str, object]:
    times = {"utterance": 0, "start_ms": 500, "end_ms": 1000, "clock_ms": 1000}
    return {**times, "status": "replied", **row}


@pytest.mark.parametrize(
    ("row", "drawn"),
    [
        pytest.param(wait(latency_ms=500), "    >> C0 500 ms", id="replied"),
        pytest.param(
            wait(status="no_reply", waited_ms=1000), "    !!!! C0 no reply 1000 ms", id="no_reply"
        ),
        pytest.param(wait(status="censored", waited_ms=250), "    ? C0 open 250 ms", id="open"),
        pytest.param(
            wait(start_ms=13_000, end_ms=13_500, clock_ms=13_500, latency_ms=500),
            " " * 44 + "C0 500 ms >>",
            id="before_the_mark_where_there_is_no_room_after_it",
        ),
    ],
)
def test_a_wait_is_drawn_to_scale_and_named(row, drawn):
    facts = make_tables(replies=[row])
    assert lanes(facts)["wait"].rstrip() == drawn


def test_marks_that_touch_share_one_name_and_a_name_never_covers_a_mark():
    calls = [(500, 600, "look_up"), (760, 800, "verify"), (2750, 2800, "refund")]
    tables = make_tables(
        tool_calls=[
            {"position": at, "name": name, "start_ms": start, "end_ms": end}
            for at, (start, end, name) in enumerate(calls)
        ]
    )
    assert lanes(tables)["tools"].rstrip() == "  TT       T refund"


def test_only_what_the_call_changed_in_the_account_is_shown():
    state = {"before": '{"a":{"n":1,"x":[]}}', "after": '{"a":{"n":1,"x":[49]}}'}
    assert "  a.x: [] -> [49]" in explain(make_tables(states=[state]))
    state["expected"] = '{"a":{"n":2,"x":[49]}}'
    assert "expected -> found, a.n: 2 -> 1" in explain(make_tables(states=[state]))
    same = {"before": '{"a":1}', "after": '{"a":1}'}
    assert "Account, before -> after\n  unchanged" in explain(make_tables(states=[same]))


def test_what_was_not_recorded_is_told_apart_from_what_did_not_happen():
    text = " ".join(explain(make_tables(calls=[{"has_trace": True}])).split())
    absent = text.partition("Not known, as the call has no such file: ")[2]
    assert absent.startswith("transcript; verdicts")
    assert "tool calls" not in absent
    assert "tool calls" in text.partition("None: ")[2]


def test_the_first_line_of_the_status_says_whether_the_call_is_one_of_the_n():
    tables = make_tables()
    for decision, expected in (
        ({"passed": True}, "PASSED · counts in n · scored · goal reached · no event"),
        (
            {"state": "agent_fault", "passed": False, "goal": False},
            "FAILED · counts in n · agent fault · goal not reached",
        ),
        ({"state": "excluded", "passed": None}, "EXCLUDED · not in n"),
        ({"state": "not_evaluated", "passed": None}, "NOT EVALUATED · not in n"),
    ):
        assert expected in explain(tables, **decision)


def test_a_call_whose_timing_is_not_evaluated_says_why_before_it_shows_what_was_heard():
    tables = make_tables(
        calls=[{"timing_reasons": ["clock_conflict"]}], segments=sounds("agent", (0, 500))
    )
    text = " ".join(explain(tables).split())
    assert "timing not evaluated: the sound and the transcript's times do not run on one" in text
    assert "no event is taken from it" in text
    facts = explain_facts("c1", tables, make_decisions({}), PROTOCOL)
    assert facts["reasons"]["clock_conflict"].endswith("one clock (clock_conflict)")


def test_a_slow_reply_is_told_with_the_words_that_got_it():
    tables = make_tables(
        events=[slow_turn()],
        replies=[wait(latency_ms=3001)],
        transcript=[
            {"position": 0, "speaker": "caller", "start_ms": 510, "end_ms": 990, "text": "Why?"}
        ],
    )
    text = why(tables, passed=False, event_slow_turn=True)
    assert 'found once at 0:02.000, 1 ms over its limit, after the caller says "Why?"' in text


def test_events_that_the_evidence_leaves_open_are_named():
    text = explain(make_tables(), event_wrong_info=None, passed=None, state="not_evaluated")
    assert "not decided: wrong_info" in text


def test_a_failing_event_names_the_tool_call_or_the_verdict_that_shows_it():
    action = slow_turn(type="unverified_action", margin_ms=None, evidence_key="tool_calls/1")
    info = slow_turn(type="wrong_info", margin_ms=None, evidence_key="verdicts/wrong_info")
    tables = make_tables(
        events=[action, info],
        tool_calls=[{"position": 0, "name": "look_up"}, {"position": 1, "name": "refund"}],
        verdicts=[{"question": "wrong_info", "verdict": True, "turn": 4, "reason": "It is $9."}],
    )
    text = why(tables, passed=False, event_unverified_action=True, event_wrong_info=True)
    assert "at 0:02.000, in the tool call T1, refund" in text
    assert "at 0:02.000: It is $9 (L4 of the transcript)" in text


def test_the_goal_of_the_scenario_is_told_where_the_population_is_known():
    population = load_population("billing-0.1")
    scenario = population.scenarios[0]
    decisions = make_decisions({"scenario_id": scenario.id})
    facts = explain_facts("c1", make_tables(), decisions, PROTOCOL, population)
    assert facts["wants"] == scenario.goal
    lines = explain_lines("c1", make_tables(), decisions, PROTOCOL, population)
    assert scenario.goal in " ".join(" ".join(lines).split())
    assert explain_facts("c1", make_tables(), decisions, PROTOCOL)["wants"] is None
    odd = make_decisions({"scenario_id": "odd"})
    assert explain_facts("c1", make_tables(), odd, PROTOCOL, population)["wants"] is None


def test_our_own_transcript_shows_where_a_not_or_a_number_differs():
    errors = {
        "speaker": "caller",
        "normaliser": "inquesto-words-1",
        "n_words": 40,
        "n_own_words": 39,
        "substitutions": 1,
        "deletions": 1,
        "insertions": 0,
        "negations": 1,
        "numbers": 0,
    }
    place = {"speaker": "caller", "turn": 1, "own_turn": 2, "at_ms": 3000, "is_number": False}
    tables = make_tables(
        transcript=[{"position": 1, "speaker": "caller", "text": "Do not.", "source": "platform"}],
        word_errors=[errors],
        transcript_differences=[
            {**place, "position": 0, "words": "not", "own_words": "", "is_negation": True},
            {**place, "position": 1, "words": "colour", "own_words": "color", "is_negation": False},
        ],
        asr_words=[{"speaker": "caller", "position": 0, "word": "you", "dropped": "no_speech"}],
    )
    text = explain(tables)
    assert "caller: 2 of 40 words differ (5.0 %): 1 replaced, 1 not heard, 0 added" in text
    assert '0:03.000 caller L1: negation: written "not", heard "nothing"' in text
    assert "colour" not in text
    assert "words left out, heard where nobody speaks: 1" in text


def test_a_transcript_that_was_heard_says_by_whom():
    row = {"position": 0, "speaker": "agent", "text": "Hi", "source": "asr", "origin": HOSTILE}
    text = explain(make_tables(transcript=[row]))
    assert "the call brings none: this one was heard by a" in text
    assert not any(mark in text for mark in ("\x1b", "\u202e"))
