"""What the code verifier and the model verifier say of every check of every call.

Each is true, false or null. The code verifier reads tool results and the transcript by the check's
value, tolerance, evidence window and topic; what it cannot tell it leaves null. The model verifier
is a recorded answer of the same name. The protocol says whose verdict decides: the first of its
``verifiers`` that has one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import strict_json
from inquesto_core.events.checks_asked import NO_OTHER_CHANGE, asked_checks
from inquesto_core.events.checks_said import (
    LARGEST,
    MICRO,
    amount_table,
    phrase_pattern,
    said_table,
    topic_pattern,
)
from inquesto_core.events.checks_trace import (
    change_verdicts,
    first_success,
    transferred,
    verified_verdict,
    with_outcome,
)
from inquesto_core.events.predicates.phrases import BUILT_IN, DEFAULT_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import ChecksProtocol, Population

__all__ = ["CHECK_ROWS", "CheckEvidence", "find_checks"]

#: One row a call and check.
CHECK_ROWS = {
    "call_id": pl.String,
    "assertion": pl.String,  # verification | changes | spoken
    "index": pl.Int64,
    "check": pl.String,
    "kind": pl.String,
    "asked": pl.String,  # the check, canonical JSON
    "code": pl.Boolean,
    "llm": pl.Boolean,
    "verdict": pl.Boolean,  # of the verifier that decides
    "decided_by": pl.String,  # llm | code | null
    "evidence": pl.String,  # the code verifier's
    "llm_evidence": pl.String,
}

_SHOWN = 300
#: The protocol's own words are English.
_OTHER_LANGUAGES = frozenset(BUILT_IN) - {DEFAULT_LANGUAGE}
#: In the JSON of a check that asks for an amount, and of some that do not.
_VALUE = '"value":'


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEvidence:
    """What was recorded of the calls.

    Parameters
    ----------
    calls : polars.DataFrame
        ``call_id, scenario_id, has_trace, has_transcript``.
    tool_calls, transcript : evidence tables
    answers : polars.DataFrame
        `inquesto_core.events.signals.ANSWERS`; empty where no model verifier is asked.
    """

    calls: pl.DataFrame
    tool_calls: pl.DataFrame
    transcript: pl.DataFrame
    answers: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What all checks read."""

    outcomes: pl.DataFrame
    said: pl.DataFrame
    amounts: pl.DataFrame  # of `said`, a row an amount
    caller: pl.DataFrame  # turns of the caller
    population: Population
    protocol: ChecksProtocol
    is_generous: bool = False  # what no result is recorded of is taken to have succeeded


def find_checks(
    seen: CheckEvidence, *, protocol: ChecksProtocol, population: Population
) -> pl.DataFrame:
    """Return both verifiers' verdicts on every check: columns `CHECK_ROWS`, sorted."""
    due = seen.calls.select("call_id", "scenario_id", "has_trace", "has_transcript").join(
        asked_checks(population), on="scenario_id"
    )
    said = said_table(seen.transcript)
    of_amounts = said.join(
        due.filter(pl.col("asked").str.contains(_VALUE)), on="call_id", how="semi"
    )
    amounts = said.join(amount_table(of_amounts["text"]), on="text")
    read = _Read(
        outcomes=with_outcome(seen.tool_calls, protocol, population),
        said=said,
        amounts=amounts,
        caller=seen.transcript.filter(pl.col("speaker") == "caller").with_columns(
            text=pl.coalesce("heard_text", "text")
        ),
        population=population,
        protocol=protocol,
    )
    code = _code_verdicts(due, read)
    judged = due.join(code, on=["call_id", "assertion", "index"], how="left")
    rows = judged.with_columns(question=pl.format("{}:{}", pl.lit(protocol.question), "check"))
    rows = rows.join(
        seen.answers.select("call_id", "question", llm="verdict", llm_evidence="reason"),
        on=["call_id", "question"],
        how="left",
    )
    decided_by = pl.coalesce(
        *(
            pl.when(pl.col(verifier).is_not_null()).then(pl.lit(verifier))
            for verifier in protocol.verifiers
        )
    )
    return (
        rows.with_columns(
            verdict=pl.coalesce(*protocol.verifiers),
            decided_by=decided_by,
            evidence=pl.col("evidence").str.slice(0, _SHOWN),
            llm_evidence=pl.col("llm_evidence").str.slice(0, _SHOWN),
        )
        .select(CHECK_ROWS.keys())
        .sort(
            "call_id",
            pl.col("assertion").cast(pl.Enum(["verification", "changes", "spoken"])),
            "index",
        )
    )


def _code_verdicts(due: pl.DataFrame, read: _Read) -> pl.DataFrame:
    """Return the code verifier's verdicts, null where they hang on a result nobody recorded.

    Such a result is read both ways: where that changes a verdict, the verdict is not known.
    """
    sure = _read_once(due, replace(read, outcomes=_settled(read.outcomes, succeeded=False)))
    untold = _untold(due, read)
    if untold.is_empty():
        return sure
    perhaps = _read_once(
        due.join(untold, on="call_id", how="semi"),
        replace(read, outcomes=_settled(read.outcomes, succeeded=True), is_generous=True),
    )
    keys = ["call_id", "assertion", "index"]
    both = sure.join(
        perhaps.select(*keys, other="code", is_read_again=pl.lit(value=True)), on=keys, how="left"
    ).join(untold, on="call_id", how="left")
    differs = pl.col("is_read_again").fill_null(value=False) & pl.col("code").ne_missing(
        pl.col("other")
    )
    return both.with_columns(
        code=pl.when(differs).then(None).otherwise("code"),
        evidence=pl.when(differs).then("untold").otherwise("evidence"),
    ).select(sure.columns)


def _settled(outcomes: pl.DataFrame, *, succeeded: bool) -> pl.DataFrame:
    return outcomes.with_columns(pl.col("succeeded").fill_null(value=succeeded))


def _untold(due: pl.DataFrame, read: _Read) -> pl.DataFrame:
    """Return the calls with a result that may decide and is not recorded: ``call_id, untold``."""
    asks_result = due.filter(
        (pl.col("kind") == "change") & pl.col("asked").str.contains('"result":', literal=True)
    )
    of_change = pl.col("name").is_in(list(read.population.tools.change)) & pl.col("call_id").is_in(
        asks_result["call_id"].unique().implode()
    )
    is_untold = pl.col("succeeded").is_null() | (of_change & pl.col("result").is_null())
    return (
        read.outcomes.filter(is_untold)
        .sort("call_id", "position")
        .group_by("call_id")
        .agg(untold=pl.format("no result is recorded of tool_calls/{}", "position").first())
    )


def _read_once(due: pl.DataFrame, read: _Read) -> pl.DataFrame:
    """Return ``call_id, assertion, index, code, evidence`` of every check."""
    of_trace = pl.col("kind").is_in(["change", NO_OTHER_CHANGE])
    columns = ("call_id", "assertion", "index", "code", "evidence")
    made = change_verdicts(
        due.filter(of_trace), read.outcomes, read.population, is_generous=read.is_generous
    )
    parts = [made.with_columns(assertion=pl.lit("changes")).select(columns)]
    for (asked,), part in due.filter(~of_trace).partition_by("asked", as_dict=True).items():
        check = strict_json(str(asked).encode())
        found = _KINDS[check["kind"]](part, check, read)
        keys = part.select("call_id", "assertion", "index")
        parts.append(keys.join(found, on=["call_id", "index"]).select(columns))
    return pl.concat(parts)


# What was said


def _spoken(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    """Return whether some statement inside the window meets the check."""
    value, place = pl.col("value"), pl.format("transcript/{} {}", "position", "shown")
    found = (
        _statements(part, check, read)
        .group_by("call_id", maintain_order=True)
        .agg(
            met=value.fill_null(value=False).any(),
            unclear=value.is_null().any(),
            where=pl.coalesce(
                place.filter(value.fill_null(value=False)).first(),
                place.filter(value.is_null()).first(),
            ),
            seen=place.first(),
        )
    )
    frame = part.join(found, on="call_id", how="left", maintain_order="left")
    return frame.with_columns(
        code=pl.when(pl.col("met").fill_null(value=False))
        .then(statement=True)
        .when(pl.col("unclear").fill_null(value=False))
        .then(None)
        .otherwise(statement=False)
    )


def _said_verdict(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    frame = _spoken(part, check, read)
    return _of_transcript(
        frame,
        pl.col("code"),
        pl.when("code")
        .then(pl.format("said: {}", "where"))
        .when(pl.col("code").is_null())
        .then(pl.format("perhaps said: {}", "where"))
        .otherwise(
            pl.coalesce(
                pl.format("said outside the window or topic: {}", "seen"), pl.lit("not said")
            )
        ),
        check,
    )


def _not_disclosed(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    frame = _spoken(part, check, read)
    return _of_transcript(
        frame,
        ~pl.col("code"),
        pl.when("code")
        .then(pl.format("disclosed: {}", "where"))
        .when(pl.col("code").is_null())
        .then(pl.format("perhaps disclosed: {}", "where"))
        .otherwise(pl.lit("not disclosed")),
        check,
    )


def _of_transcript(
    frame: pl.DataFrame, verdict: pl.Expr, evidence: pl.Expr, check: Mapping[str, Any]
) -> pl.DataFrame:
    """Return ``call_id, index, code, evidence``; null without what the check reads."""
    has, lacking = pl.col("has_transcript"), pl.lit("no transcript")
    if check.get("window", "call") != "call" or check["kind"] == "consent":
        has, lacking = has & pl.col("has_trace"), pl.lit("no transcript or no trace")
    return frame.select(
        "call_id",
        "index",
        code=pl.when(has).then(verdict),
        evidence=pl.when(has).then(evidence).otherwise(lacking),
    )


def _statements(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    """Return what could meet a check: ``call_id, position, shown, value``, the last three-valued.

    Rows are those that say the value; where only topic or window fail, their value is false.
    """
    hits = _amount_hits(part, check, read) if "value" in check else _text_hits(part, check, read)
    placed = _in_window(hits, check.get("window", "call"), read)
    value = pl.col("meets") & pl.col("inside")
    sure = pl.when(pl.col("sure")).then(value).otherwise(pl.when(~value).then(statement=False))
    return placed.select("call_id", "position", "start_ms", "end_ms", "shown", value=sure).sort(
        "call_id", "position"
    )


def _amount_hits(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    wanted = max(-LARGEST, min(LARGEST, int(Decimal(str(check["value"])) * MICRO)))
    off = min(LARGEST, int(Decimal(str(check["tolerance"])) * MICRO))
    rows = read.amounts.join(part.select("call_id").unique(), on="call_id", how="semi").filter(
        (pl.col("micro") - wanted).abs() <= off
    )
    if "currency" in check:
        rows = rows.filter(pl.col("currency").is_null() | (pl.col("currency") == check["currency"]))
    topic = topic_pattern(check.get("topic"))
    before = (
        pl.when(pl.col("is_first") & (pl.col("before") == "")).then("previous").otherwise("before")
    )
    back = before.str.contains(topic)
    asked_before = pl.col("previous").str.contains(topic)
    if check["kind"] == "consent":  # put to the caller by the turn as a whole, or in answer
        answers = asked_before & pl.col("is_first")
        put = pl.col("text").str.contains(topic) | (pl.col("points_back") & back)
        return rows.with_columns(meets=put & (~pl.col("needs_topic") | answers))
    meets = (
        pl.when(pl.col("needs_topic") & ~(asked_before & pl.col("is_first")))
        .then(statement=False)
        .when(pl.col("near").str.contains(topic))
        .then(statement=True)
        .when(pl.col("points_back") & back)
        .then(statement=True)
        .when(back | pl.col("loose").str.contains(topic))
        .then(None)
        .otherwise(statement=False)
    )
    return rows.with_columns(meets=meets)


def _text_hits(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    rows = read.said.join(part.select("call_id").unique(), on="call_id", how="semi")
    if "any_of" in check:
        rows = rows.filter(pl.col("text").str.contains(phrase_pattern(check["any_of"])))
    topic = topic_pattern(check.get("topic"))
    on_topic = pl.col("text").str.contains(topic) | pl.col("previous").str.contains(topic)
    return rows.with_columns(meets=on_topic, shown=pl.col("text").str.slice(0, 80))


def _in_window(hits: pl.DataFrame, window: str, read: _Read) -> pl.DataFrame:
    """Return `hits` with ``inside``: whether a turn lies in the window; null on its edge.

    *After* something that never happened there is nothing; everything is before it.
    """
    if window == "call":
        return hits.with_columns(inside=pl.lit(value=True))
    anchors = _anchors(window, read)
    placed = hits.join(anchors, on="call_id", how="left", maintain_order="left")
    after = pl.col("start_ms") >= pl.col("to_ms")
    before = pl.coalesce("end_ms", "start_ms") <= pl.col("from_ms")
    behind = (
        pl.when(pl.col("at").is_null())
        .then(statement=False)
        .when(after)
        .then(statement=True)
        .when(before)
        .then(statement=False)
        .otherwise(None)
    )
    return placed.with_columns(inside=behind if window.startswith("after") else ~behind)


def _anchors(window: str, read: _Read) -> pl.DataFrame:
    if window in {"before_verification", "after_verification"}:
        return first_success(read.outcomes, read.population.tools.verify)
    performed = read.outcomes.with_columns(succeeded=pl.lit(value=True))
    return first_success(performed, [window.partition(":")[2]])


# Consent


def _consent(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    """Return whether the caller agreed to what the agent put to them before it was done.

    The agent's statement has to meet value and topic; what counts of the caller is the last turn
    between it and the tool call that says yes or no. Both in one turn: undetermined. What was never
    done needed no consent.
    """
    performed = read.outcomes.with_columns(succeeded=pl.lit(value=True))
    anchor = first_success(performed, [check["tool"]])
    put = _statements(part, check, read).join(anchor, on="call_id")
    put = put.filter(pl.col("value").ne_missing(pl.lit(value=False))).filter(
        (pl.col("start_ms") < pl.col("from_ms")).fill_null(value=True)
    )
    first = put.group_by("call_id").agg(
        asked_at=pl.col("position").min(),
        sure=pl.col("value").fill_null(value=False).any(),
        timed=pl.col("start_ms").is_not_null().all(),
    )
    replies = (
        read.caller.select("call_id", "position", "start_ms", "text")
        .join(first, on="call_id")
        .join(anchor, on="call_id")
        .filter(pl.col("position") > pl.col("asked_at"))
        .filter((pl.col("start_ms") < pl.col("from_ms")).fill_null(value=True))
        .with_columns(**_replies(read))
        .filter(pl.col("yes") | pl.col("no"))
        .sort("call_id", "position")
        .group_by("call_id", maintain_order=True)
        .agg(
            agreed=pl.when(pl.col("yes").last() & pl.col("no").last())
            .then(None)
            .otherwise(pl.col("yes").last()),
            replied=pl.col("position").last(),
            reply_timed=pl.col("start_ms").is_not_null().all(),
        )
    )
    frame = part
    for other in (anchor, first, replies):
        frame = frame.join(other, on="call_id", how="left", maintain_order="left")
    timed = pl.col("from_ms").is_not_null() & pl.col("timed") & pl.col("reply_timed")
    code = (
        pl.when(pl.col("at").is_null())
        .then(statement=True)
        .when(pl.col("asked_at").is_null() | pl.col("replied").is_null())
        .then(statement=False)
        .when(~timed | ~pl.col("sure"))
        .then(pl.when(~pl.col("agreed")).then(statement=False))
        .otherwise("agreed")
    )
    text = (
        pl.when(pl.col("at").is_null())
        .then(pl.lit("it was never done"))
        .when(pl.col("asked_at").is_null())
        .then(pl.format("tool_calls/{} without it being put to the caller", "at"))
        .when(pl.col("replied").is_null())
        .then(pl.format("put at transcript/{}, no yes before tool_calls/{}", "asked_at", "at"))
        .otherwise(
            pl.format(
                "put at transcript/{}, answered at transcript/{}, done at tool_calls/{}",
                "asked_at",
                "replied",
                "at",
            )
        )
    )
    return _of_transcript(frame, code, text, check)


def _replies(read: _Read) -> dict[str, pl.Expr]:
    """Return whether a turn's ``text`` says yes, and whether it says no.

    Beside the protocol's words count those of the population, and those built in for each other
    language that it has phrases of. What says yes there says no *no*: *no problem*.
    """
    words, own = read.protocol.consent, _own_words(read.population)
    text = pl.col("text")
    yes, left = text.str.contains(phrase_pattern(words.yes)), text
    if own["yes"]:
        pattern = phrase_pattern(own["yes"])
        yes, left = yes | text.str.contains(pattern), text.str.replace_all(pattern, " … ")
    refusals = [*words.no, *own["no"], *own["negation"]]
    no = left.str.contains(phrase_pattern(refusals)) if refusals else pl.lit(value=False)
    return {"yes": yes, "no": no}


def _own_words(population: Population) -> dict[str, list[str]]:
    phrases = population.phrases or {}
    lists = [*phrases.values(), *(BUILT_IN[name] for name in phrases if name in _OTHER_LANGUAGES)]
    return {
        name: sorted({phrase for each in lists for phrase in each.get(name, ())})
        for name in ("yes", "no", "negation")
    }


def _verified(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    return verified_verdict(part, check, read.outcomes, read.population)


def _transfer(part: pl.DataFrame, check: Mapping[str, Any], read: _Read) -> pl.DataFrame:
    return transferred(part, check, read.outcomes, read.population)


_KINDS = {
    "verified": _verified,
    "not_disclosed": _not_disclosed,
    "consent": _consent,
    "transfer": _transfer,
    "spoken_amount": _said_verdict,
    "spoken_text": _said_verdict,
}
