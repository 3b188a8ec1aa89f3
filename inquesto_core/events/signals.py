"""What each of the six success signals says of every call.

A verdict is true, false, or null where the signal does not apply (``N/A``). Which of them count for
a scenario is its whitelist's to say, and `inquesto_core.score.signals` counts. What the simulated
caller did with tools of its own stands in a table of its own (``caller_calls``), so that nothing
here can take it for the agent's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import canonical_bytes, digest_json, strict_json
from inquesto_core.events.reference_match import MatchFlags, match_reference, without_side
from inquesto_core.events.signals_assertions import claim_rows, guidance_rows, state_rows
from inquesto_core.events.signals_ends import ends_of_calls

if TYPE_CHECKING:
    from collections.abc import Collection

    from inquesto_core.protocol import Population, SignalsProtocol

__all__ = [
    "ANSWERS",
    "ASSERTION_ROWS",
    "FINAL_STATES",
    "SIGNAL_ROWS",
    "Found",
    "Observed",
    "find_signals",
    "predictions",
]

#: One row a state of a call, more of it than the evidence table has.
FINAL_STATES = {
    "call_id": pl.String,
    "after": pl.String,  # canonical JSON, as the rest
    "expected": pl.String,
    "after_sha256": pl.String,
    "expected_sha256": pl.String,
    "user_after": pl.String,
    "user_after_sha256": pl.String,
}

#: One row a recorded answer.
ANSWERS = {
    "call_id": pl.String,
    "question": pl.String,
    "verdict": pl.Boolean,
    "score": pl.Float64,
    "reason": pl.String,
    "model": pl.String,
    "undetermined": pl.String,  # why a model that was asked gave no answer; null = it gave one
}

#: One row a call and signal.
SIGNAL_ROWS = {
    "call_id": pl.String,
    "signal": pl.String,
    "verdict": pl.Boolean,  # null = does not apply
    "value": pl.Float64,  # the share or score that was compared; null = there is none
    "evidence": pl.String,
}

#: One row an assertion of a call: predicates, claims, and guidance to the caller's own actions.
ASSERTION_ROWS = {
    "call_id": pl.String,
    "signal": pl.String,  # db_state_assertion | nl_assertion | guidance
    "index": pl.Int64,
    "name": pl.String,
    "side": pl.String,  # agent | user
    "expected": pl.Boolean,
    "passed": pl.Boolean,
    "error": pl.String,  # why a predicate has no value; null = it has one
    "evidence": pl.String,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What was recorded of the calls.

    Parameters
    ----------
    calls : polars.DataFrame
        ``call_id, scenario_id, ended_reason, simulator_end, responses, has_trace``.
    tool_calls, caller_calls : polars.DataFrame
        Evidence tables ``tool_calls``: of the agent, and of the simulated caller.
    transcript : polars.DataFrame
    states : polars.DataFrame
        `FINAL_STATES`.
    answers : polars.DataFrame
        `ANSWERS`; empty where no judge is asked.
    """

    calls: pl.DataFrame
    tool_calls: pl.DataFrame
    caller_calls: pl.DataFrame
    transcript: pl.DataFrame
    states: pl.DataFrame
    answers: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the signals say.

    Parameters
    ----------
    signals, assertions : polars.DataFrame
        `SIGNAL_ROWS` and `ASSERTION_ROWS`, sorted.
    ends : polars.DataFrame
        `inquesto_core.events.signals_ends.ENDS`.
    hashes : polars.DataFrame
        ``call_id, expected_db_hash, final_db_hash, user_db_hash``; the last decides nothing.
    """

    signals: pl.DataFrame
    assertions: pl.DataFrame
    ends: pl.DataFrame
    hashes: pl.DataFrame


def find_signals(seen: Observed, *, protocol: SignalsProtocol, population: Population) -> Found:
    """Return what every signal says of every call, and on what grounds.

    Raises
    ------
    ProtocolError
        Nothing is checked here: see `inquesto_core.events.signals_asked.check_signals`.
    """
    due = seen.calls.select("call_id", "scenario_id", "has_trace", "responses")
    hashes = _hashes(due, seen, population)
    held = state_rows(due, seen.states, population=population)
    claims = claim_rows(due, seen.answers, protocol=protocol, population=population)
    guided = guidance_rows(
        due, seen.caller_calls, seen.answers, protocol=protocol, population=population
    )
    ends = ends_of_calls(
        seen.calls, seen.tool_calls, seen.transcript, protocol=protocol, population=population
    )
    exits = ends.select(
        "call_id",
        verdict="clean",
        value=pl.lit(None, dtype=pl.Float64),
        evidence=pl.format("{} ({})", "conversation_end_reason", "conversation_end_policy"),
    )
    claiming = [one.id for one in population.scenarios if (one.signals or {}).get("nl_assertions")]
    parts = {
        "is_action_match": _action_match(due, seen, protocol, population),
        "db_state_match": _state_match(hashes),
        "db_state_assertion": _share(due, held, protocol.pass_rates["db_state_assertion"]),
        "nl_assertion": _share(due, claims, protocol.pass_rates["nl_assertion"], claiming),
        "judge_passed": _judge_passed(due, seen.answers, protocol),
        "clean_exit": exits,
    }
    signals = [
        part.with_columns(signal=pl.lit(name)).select(SIGNAL_ROWS.keys())
        for name, part in parts.items()
    ]
    # In the order of the six: appended so, and no other sort key than the call.
    order = pl.Enum(list(parts))
    return Found(
        signals=pl.concat(signals).sort("call_id", pl.col("signal").cast(order)),
        assertions=pl.concat([held, claims, guided]).sort("call_id", "signal", "index"),
        ends=ends.sort("call_id"),
        hashes=hashes.drop("declared", "digest_only").sort("call_id"),
    )


# ACTION_MATCH


def _action_match(
    due: pl.DataFrame, seen: Observed, protocol: SignalsProtocol, population: Population
) -> pl.DataFrame:
    asked = pl.DataFrame(
        [_reference_row(scenario.id, scenario.signals or {}) for scenario in population.scenarios],
        schema={
            "scenario_id": pl.String,
            "reference": pl.String,
            "flags": pl.String,
            "why_not": pl.String,
        },
        orient="row",
    )
    given = predictions(due, seen.tool_calls, protocol=protocol, population=population)
    frame = due.join(asked, on="scenario_id", how="left", maintain_order="left").join(
        given, on="call_id", how="left", maintain_order="left"
    )
    triple = ("reference", "flags", "prediction")
    distinct = frame.select(triple).drop_nulls().unique().sort(triple)
    judged = [
        _compare(reference, flags, prediction, protocol)
        for reference, flags, prediction in distinct.iter_rows()
    ]
    found = distinct.with_columns(
        verdict=pl.Series([verdict for verdict, _ in judged], dtype=pl.Boolean),
        evidence=pl.Series([text for _, text in judged], dtype=pl.String),
    )
    frame = frame.join(found, on=triple, how="left", maintain_order="left")
    applies = pl.col("reference").is_not_null()
    return frame.select(
        "call_id",
        verdict=pl.when(applies).then(pl.col("verdict").fill_null(value=False)),
        value=pl.lit(None, dtype=pl.Float64),
        evidence=pl.when(applies)
        .then(pl.col("evidence").fill_null("a reference answer, and no prediction"))
        .otherwise(pl.col("why_not").fill_null("no reference answer")),
    )


def predictions(
    calls: pl.DataFrame,
    tool_calls: pl.DataFrame,
    *,
    protocol: SignalsProtocol,
    population: Population,
) -> pl.DataFrame:
    """Return what each call's scenario takes for the agent's prediction, as JSON.

    Parameters
    ----------
    calls : polars.DataFrame
        ``call_id, scenario_id, has_trace, responses``.

    Returns
    -------
    polars.DataFrame
        ``call_id, prediction``; null where there is none.
    """
    sources = pl.DataFrame(
        [
            (scenario.id, (scenario.signals or {}).get("prediction", "responses") == "trace")
            for scenario in population.scenarios
        ],
        schema={"scenario_id": pl.String, "from_trace": pl.Boolean},
        orient="row",
    )
    frame = calls.join(sources, on="scenario_id", how="left", maintain_order="left").join(
        _performed_as_predictions(tool_calls, protocol),
        on="call_id",
        how="left",
        maintain_order="left",
    )
    of_trace = pl.when("has_trace").then(pl.col("performed").fill_null("[]"))
    return frame.select(
        "call_id", prediction=pl.when("from_trace").then(of_trace).otherwise("responses")
    )


def _reference_row(scenario_id: str, asked: Any) -> dict[str, Any]:
    flags = ("ignore_capitalization", "ignore_punctuation", "clean_text", "disallow_extra_items")
    reference, why_not = asked.get("reference_answer"), None
    if reference is not None:
        reference, theirs = without_side(reference, "user")
        if reference is None and theirs:
            why_not = "the reference asks for actions of the caller only; they are guidance"
    return {
        "scenario_id": scenario_id,
        "reference": None if reference is None else canonical_bytes(reference).decode(),
        "flags": canonical_bytes({name: asked.get(name, False) for name in flags}).decode(),
        "why_not": why_not,
    }


def _performed_as_predictions(tool_calls: pl.DataFrame, protocol: SignalsProtocol) -> pl.DataFrame:
    """Return for every call what the agent performed, as a JSON list in the order of the trace."""
    performed = tool_calls.filter(pl.col("status").is_in(list(protocol.performed_statuses)))
    names = performed.select("name").unique()
    texts = [canonical_bytes(name).decode() for name in names["name"]]
    quoted = names.with_columns(quoted=pl.Series(texts, dtype=pl.String))
    action = pl.concat_str(
        pl.lit('{"arguments":'),
        pl.col("arguments").fill_null("{}"),
        pl.lit(',"name":'),
        "quoted",
        pl.lit("}"),
    )
    return (
        performed.join(quoted, on="name", how="left")
        .sort("call_id", "position")
        .group_by("call_id", maintain_order=True)
        .agg(performed=pl.concat_str(pl.lit("["), action.str.join(","), pl.lit("]")).first())
    )


def _compare(
    reference: str, flags: str, prediction: str, protocol: SignalsProtocol
) -> tuple[bool, str]:
    told = strict_json(flags.encode())
    strict = told.pop("disallow_extra_items") or protocol.strict_match
    ours, _ = without_side(strict_json(prediction.encode()), "user")
    return match_reference(
        strict_json(reference.encode()),
        [] if ours is None else ours,
        MatchFlags(
            **told,
            disallow_extra_items=strict,
            relative_tolerance=protocol.relative_tolerance,
            absolute_tolerance=protocol.absolute_tolerance,
        ),
    )


# DB_STATE_MATCH


def _hashes(due: pl.DataFrame, seen: Observed, population: Population) -> pl.DataFrame:
    """Return for every call the two hashes that are compared, and that of the caller's side.

    A digest that was told is compared with one that was told; content is hashed here, without the
    keys that the scenario leaves out.
    """
    rows = []
    for scenario in population.scenarios:
        asked = scenario.signals or {}
        content, left_out = asked.get("expected_db"), asked.get("exclude_keys", [])
        rows.append(
            {
                "scenario_id": scenario.id,
                "scenario_db": None if content is None else canonical_bytes(content).decode(),
                "scenario_sha256": asked.get("expected_db_sha256"),
                "left_out": canonical_bytes(sorted(left_out)).decode(),
            }
        )
    keys = ("scenario_id", "scenario_db", "scenario_sha256", "left_out")
    asked_of = pl.DataFrame(rows, schema=dict.fromkeys(keys, pl.String), orient="row")
    frame = due.select("call_id", "scenario_id").join(
        asked_of, on="scenario_id", how="left", maintain_order="left"
    )
    frame = frame.join(seen.states, on="call_id", how="left", maintain_order="left")
    for name in ("scenario_db", "after", "expected", "user_after"):
        frame = _with_digest(frame, name)
    told = pl.coalesce("scenario_sha256", "expected_sha256")
    content_digest = pl.coalesce("scenario_db_digest", "expected_digest")
    from_scenario = pl.col("scenario_sha256").is_not_null() | (
        pl.col("scenario_db").is_null() & told.is_not_null()
    )
    return frame.select(
        "call_id",
        declared=told.is_not_null() | content_digest.is_not_null(),
        digest_only=from_scenario,
        expected_db_hash=pl.when(from_scenario).then(told).otherwise(content_digest),
        final_db_hash=pl.when(from_scenario)
        .then(pl.coalesce("after_sha256", "after_digest"))
        .otherwise(pl.coalesce("after_digest", "after_sha256")),
        user_db_hash=pl.coalesce("user_after_digest", "user_after_sha256"),
    )


def _with_digest(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return `frame` with the digest of each document of a column; each distinct one once."""
    distinct = frame.select(name, "left_out").drop_nulls().unique().sort(name, "left_out")
    digests = []
    for text, left_out in distinct.iter_rows():
        document, without = strict_json(text.encode()), set(strict_json(left_out.encode()))
        if isinstance(document, dict):
            document = {key: value for key, value in document.items() if key not in without}
        digests.append(digest_json(document))
    found = distinct.with_columns(pl.Series(f"{name}_digest", digests, dtype=pl.String))
    return frame.join(found, on=[name, "left_out"], how="left", maintain_order="left")


def _state_match(hashes: pl.DataFrame) -> pl.DataFrame:
    same = (pl.col("expected_db_hash") == pl.col("final_db_hash")).fill_null(value=False)
    short = pl.format(
        "final {}…, expected {}…",
        pl.col("final_db_hash").str.slice(0, 16),
        pl.col("expected_db_hash").str.slice(0, 16),
    )
    return hashes.select(
        "call_id",
        verdict=pl.when("declared").then(same),
        value=pl.lit(None, dtype=pl.Float64),
        evidence=pl.when(~pl.col("declared"))
        .then(pl.lit("no expected database"))
        .when(pl.col("final_db_hash").is_null())
        .then(pl.lit("an expected database, and no database after the call"))
        .otherwise(short),
    )


# The other signals


def _share(
    due: pl.DataFrame, rows: pl.DataFrame, pass_rate: float, claiming: Collection[str] = ()
) -> pl.DataFrame:
    """Return whether the share of assertions that passed reaches the rate; none: null.

    Parameters
    ----------
    claiming : collection of str
        Scenarios that declare some, so that a call without is one that nobody answered for.
    """
    counts = rows.group_by("call_id").agg(
        k=pl.col("passed").fill_null(value=False).sum(), n=pl.len()
    )
    frame = due.select("call_id", "scenario_id").join(
        counts, on="call_id", how="left", maintain_order="left"
    )
    share = pl.col("k") / pl.col("n")
    nothing = (
        pl.when(pl.col("scenario_id").is_in(list(claiming)))
        .then(pl.lit("declared, and no judge answered"))
        .otherwise(pl.lit("none is declared"))
    )
    return frame.select(
        "call_id",
        verdict=share >= pass_rate,
        value=share,
        evidence=pl.coalesce(pl.format("{} of {} passed", "k", "n"), nothing),
    )


def _judge_passed(
    due: pl.DataFrame, answers: pl.DataFrame, protocol: SignalsProtocol
) -> pl.DataFrame:
    scores = answers.filter(pl.col("question") == protocol.judge_question)
    frame = due.select("call_id").join(
        scores.select("call_id", "score", "undetermined"),
        on="call_id",
        how="left",
        maintain_order="left",
    )
    limit = pl.lit(f"{protocol.judge_threshold:g}")
    unclear = pl.col("undetermined")
    return frame.select(
        "call_id",
        # A model that was asked and gave no mark has not passed the call.
        verdict=pl.when(unclear.is_not_null())
        .then(statement=False)
        .otherwise(pl.col("score") >= protocol.judge_threshold),
        value="score",
        evidence=pl.coalesce(
            pl.format("the judge gave no mark: {}", unclear),
            pl.format("score {}, passes from {}", "score", limit),
            pl.lit("no score of a judge"),
        ),
    )
