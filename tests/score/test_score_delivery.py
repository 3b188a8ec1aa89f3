from __future__ import annotations

from inquesto_core.evidence import make_table
from inquesto_core.score.delivery import delivery


def deliver(*turns, barge_ins=(), timing_reasons=()):
    rows = [
        {"call_id": "c1", "position": at, "speaker": "agent", "text": text, "heard_text": heard}
        | {"start_ms": 10_000 * at, "end_ms": 10_000 * at + 5000}
        for at, (text, heard) in enumerate(turns)
    ]
    rows.append({"call_id": "c1", "position": 99, "speaker": "caller", "text": "[interrupted] no"})
    spoken = [
        {"call_id": "c1", "utterance": at, "at_ms": each} for at, each in enumerate(barge_ins)
    ]
    calls = [{"call_id": "c1", "timing_reasons": list(timing_reasons)}]
    return delivery(
        make_table("transcript", rows), make_table("barge_ins", spoken), make_table("calls", calls)
    )


def test_what_was_never_played_is_no_statement():
    found = deliver(
        ("Your balance is $65.52, due March 5th.", "Your balance is sixty-five fifty-two"),
        ("Goodbye.", None),
    )
    assert (found.n_turns, found.n_told, found.n_cut) == (2, 1, 1)
    assert found.said == {"amount": 1, "date": 1}
    assert found.heard == {"amount": 1, "date": 0}
    assert found.n_words > found.n_heard > 0


def test_a_mark_is_stale_where_nobody_spoke_into_the_turn():
    found = deliver(
        ("I will [interrupted]", None),
        ("Well <interrupted by user>", None),
        ("We were interrupted before", None),
        barge_ins=[11_000],
    )
    assert (found.marked, found.marked_stale) == (2, 1)


def test_marks_are_not_stale_where_sound_cannot_tell():
    found = deliver(("I will [interrupted]", None), timing_reasons=["mono"])
    assert (found.marked, found.marked_stale) == (1, 0)


def test_a_turn_cut_short_with_a_barge_in_is_cut_for_a_reason():
    whole, played = "one moment please, I look", "one moment"
    assert deliver((whole, played)).cut_without_barge_in == 1
    assert deliver((whole, played), barge_ins=[3000]).cut_without_barge_in == 0
