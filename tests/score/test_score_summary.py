from __future__ import annotations

import polars as pl
import pytest
from decision_cases import complete_run, decision, decisions, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.canonical import canonical_bytes
from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import AgentIdentity, JudgeUse, add_summaries, build_record

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = load_population("billing-0.1", PROTOCOL)
NAMES = [event.name for event in PROTOCOL.events]


def record_of(told, kind):
    return build_record(
        told,
        protocol=PROTOCOL,
        population=POPULATION,
        default_population_digest=POPULATION.digest,
        agent=AgentIdentity(name="A", fingerprint=None, config={}, runtime=None),
        judge=JudgeUse(kind=kind),
        timing_reported=False,
        call_key=b"key",
        provenance={},
        evaluated_at=None,
    )


calls = st.lists(
    st.fixed_dictionaries(
        {
            "state": st.sampled_from(["scored", "excluded", "not_evaluated", "agent_fault"]),
            "events": st.sets(st.sampled_from(NAMES)),
            "goal": st.sampled_from([True, False, None]),
            "passed_judge_free": st.sampled_from([True, False, None]),
            "group": st.sampled_from([*POPULATION.groups, "strange", None]),
            "condition": st.sampled_from([*POPULATION.conditions, None]),
            "trial": st.integers(0, 1),
            "borderline": st.booleans(),
            "longest_dead_air_ms": st.sampled_from([None, 2999, 3001]),
            "latencies": st.lists(st.integers(0, 4000), max_size=4),
            "part": st.integers(0, 3),
        }
    ),
    min_size=1,
    max_size=14,
)


@pytest.mark.parametrize("kind", ["recorded", "none"])
@settings(max_examples=25, deadline=None)
@given(drawn=calls)
def test_the_record_of_a_whole_is_that_of_its_parts_added(kind, drawn):
    rows, replies = [], []
    for at, fields in enumerate(drawn):
        given_fields = {k: v for k, v in fields.items() if k not in ("events", "latencies", "part")}
        call_id = f"c{at}"
        reasons = [] if fields["state"] == "scored" else ["why"]
        row = decision(
            PROTOCOL, *sorted(fields["events"]), call_id=call_id, reasons=reasons, **given_fields
        )
        rows.append(row)
        replies += [
            {"call_id": call_id, "utterance": k, "status": "replied", "latency_ms": value}
            for k, value in enumerate(fields["latencies"])
        ]
    table, evidence = decisions(PROTOCOL, rows), make_table("replies", replies)
    places = pl.Series([fields["part"] for fields in drawn])
    parts = []
    for part in sorted(set(places)):
        ours = table.filter(places == part)
        theirs = evidence.join(ours, on="call_id", how="semi")
        parts.append(summary(PROTOCOL, ours, judge_free=kind == "none", replies=theirs))
    whole = summary(PROTOCOL, table, judge_free=kind == "none", replies=evidence)
    one, other = record_of(add_summaries(parts), kind), record_of(whole, kind)
    assert canonical_bytes(one) == canonical_bytes(other)


def test_a_design_is_whole_only_where_all_parts_together_fill_it():
    rows = complete_run(PROTOCOL, POPULATION)
    halves = [summary(PROTOCOL, half) for half in (rows[::2], rows[1::2])]
    assert "[partial]" not in record_of(add_summaries(halves), "recorded")["citation"]
    for half in halves:
        assert "[partial]" in record_of(half, "recorded")["citation"]
