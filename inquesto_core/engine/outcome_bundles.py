"""What bundles say of the outcome of their calls, as tables: no recording is listened to."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle import at_hand, read_bundle
from inquesto_core.canonical import canonical_bytes, digest_json
from inquesto_core.engine.executors import InProcess, Lost
from inquesto_core.engine.stored import INPUTS
from inquesto_core.errors import BundleError, Problem, SchemaError, StoreError
from inquesto_core.events.signals import ANSWERS, FINAL_STATES
from inquesto_core.evidence import TABLES, empty_table, make_table
from inquesto_core.evidence.rows import bundle_rows, tool_call_rows
from inquesto_core.instruments.extract import problem_row
from inquesto_core.score.accounting import DUPLICATE_CALL_ID, UNREADABLE_BUNDLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inquesto_core.bundle import Bundle, BundleRef
    from inquesto_core.engine.executors import Executor

__all__ = ["OUTCOME_CALLS", "OutcomeTables", "read_outcomes"]

#: One row a call; what a protocol reads of its tags stands in columns of its own.
OUTCOME_CALLS: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "population": pl.String,
    "scenario_id": pl.String,
    "condition": pl.String,
    "group": pl.String,
    "trial": pl.Int64,
    "agent_name": pl.String,
    "agent_fingerprint": pl.String,
    "ended_at": pl.String,
    "ended_by": pl.String,
    "ended_reason": pl.String,
    "exclusion_reason": pl.String,
    "has_trace": pl.Boolean,
    "has_transcript": pl.Boolean,
    "has_verdicts": pl.Boolean,
    "unreadable": pl.List(pl.String),  # codes of parts that are there and cannot be read
    "responses": pl.String,  # canonical JSON
    "tags": pl.String,  # canonical JSON
}

#: What a worker reads in one go, and below how many goes none is started.
_BUNDLES_A_TASK = 32
_FEW_TASKS = 16

_PARTS = ("trace", "transcript", "state", "verdicts")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeTables:
    """The calls of a run and what was recorded of them.

    Parameters
    ----------
    calls : polars.DataFrame
        `OUTCOME_CALLS`, then a column a tag that was asked for; sorted by call.
    problems : polars.DataFrame
        Evidence table.
    inputs : polars.DataFrame
        Every file that was read, but recordings.
    verdicts : polars.DataFrame
        Evidence table: what a model said, whole; empty where none was asked.
    """

    calls: pl.DataFrame
    tool_calls: pl.DataFrame
    caller_calls: pl.DataFrame
    transcript: pl.DataFrame
    states: pl.DataFrame
    answers: pl.DataFrame
    problems: pl.DataFrame
    inputs: pl.DataFrame
    verdicts: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    call_id: str
    rows: Mapping[str, list[dict[str, Any]]]
    digests: tuple[tuple[str, str], ...]


def read_outcomes(
    refs: Sequence[BundleRef],
    *,
    tags: Mapping[str, str],
    executor: Executor | None = None,
    progress: Callable[[int, int], None],
) -> OutcomeTables:
    """Return what the bundles say.

    Parameters
    ----------
    refs : sequence of BundleRef
    tags : mapping of str to str
        Column to tag.
    executor : Executor, optional
        Who reads, where there are many; changes no byte of the result. Default: this process.
    progress : callable
        Told how many of how many are read.

    Raises
    ------
    StoreError
        ``workers_failed``.
    """
    kept = _one_a_call(_read_all(refs, _Reading(tags=tuple(tags.items())), executor, progress))
    columns = {**OUTCOME_CALLS, **dict.fromkeys(tags, pl.String)}

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for each in kept for row in each.rows.get(name, ())]

    calls = pl.DataFrame(rows("calls"), schema=columns, orient="row").sort("call_id")
    agents = calls["agent_fingerprint"].drop_nulls().unique()
    if len(agents) == 1:  # a call.json that cannot be read names no agent
        calls = calls.with_columns(pl.col("agent_fingerprint").fill_null(agents[0]))
    caller_calls = pl.DataFrame(rows("caller_calls"), schema=TABLES["tool_calls"], orient="row")
    return OutcomeTables(
        calls=calls,
        tool_calls=make_table("tool_calls", rows("tool_calls")),
        caller_calls=caller_calls.sort("call_id", "position"),
        transcript=make_table("transcript", rows("transcript")),
        states=pl.DataFrame(rows("states"), schema=FINAL_STATES, orient="row").sort("call_id"),
        answers=pl.DataFrame(rows("answers"), schema=ANSWERS, orient="row").sort(
            "call_id", "question"
        ),
        problems=make_table("problems", rows("problems")),
        inputs=pl.DataFrame(
            [(each.call_id, file, digest) for each in kept for file, digest in each.digests],
            schema=INPUTS,
            orient="row",
        ),
        verdicts=empty_table("verdicts"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What is done with some bundles, here or in a worker."""

    tags: tuple[tuple[str, str], ...]

    def __call__(self, refs: Sequence[BundleRef]) -> list[_Read]:
        """Return what each of them says."""
        tags = dict(self.tags)
        return [_one(ref, tags) for ref in refs]


def _read_all(
    refs: Sequence[BundleRef],
    reading: _Reading,
    executor: Executor | None,
    progress: Callable[[int, int], None],
) -> list[_Read]:
    """Return what every bundle says, in the order of `refs`."""
    tasks = [refs[at : at + _BUNDLES_A_TASK] for at in range(0, len(refs), _BUNDLES_A_TASK)]
    doing = InProcess() if executor is None or len(tasks) < _FEW_TASKS else executor
    found: list[list[_Read]] = [[] for _ in tasks]
    done = 0
    with closing(doing.run(reading, tasks, order=range(len(tasks)))) as results:
        for at, read in results:
            if isinstance(read, Lost):
                raise StoreError(
                    Problem(
                        code="workers_failed",
                        found=f"a worker was lost {read.times} times with some bundles: {read.how}",
                        expected="memory for some bundles in each worker",
                        remedy="free memory, or ask for fewer with --workers",
                    )
                )
            found[at] = read
            done += len(read)
            progress(done, len(refs))
    return [each for some in found for each in some]


def _one(ref: BundleRef, tags: Mapping[str, str]) -> _Read:
    try:
        with at_hand(ref):
            bundle = read_bundle(ref)
    except (BundleError, SchemaError) as exc:
        return _unusable(exc.problem.call_id or ref.label, UNREADABLE_BUNDLE, exc.problem)
    call = bundle.call
    sound = {entry.file for entry in call.audio}
    problems = [each for each in bundle.problems if not _is_of_sound(each, sound)]
    own = bundle_rows(bundle)
    caller_calls = bundle.trace.caller_calls if bundle.trace is not None else None
    rows = {
        "calls": [_call_row(bundle, problems, tags)],
        "tool_calls": own["tool_calls"],
        "caller_calls": tool_call_rows(call.call_id, caller_calls or ()),
        "transcript": own["transcript"],
        "states": _state_rows(bundle),
        "answers": _answer_rows(bundle),
        "problems": [problem_row(problem, call.call_id) for problem in problems],
    }
    digests = tuple(pair for pair in bundle.digests if pair[0] not in sound)
    return _Read(call_id=call.call_id, rows=rows, digests=digests)


def _is_of_sound(problem: Problem, sound: set[str]) -> bool:
    return problem.file in sound or problem.pointer == "/audio"


def _unusable(call_id: str, reason: str, problem: Problem) -> _Read:
    absent = dict.fromkeys(("has_trace", "has_transcript", "has_verdicts"), False)
    row = {"call_id": call_id, "unreadable": [reason], **absent}
    rows = {"calls": [row], "problems": [problem_row(problem, call_id)]}
    return _Read(call_id=call_id, rows=rows, digests=())


def _one_a_call(read: Sequence[_Read]) -> list[_Read]:
    """Keep one bundle a call id: copies are one; different bundles of one id are none of them."""
    by_id: dict[str, list[_Read]] = {}
    for each in read:
        by_id.setdefault(each.call_id, []).append(each)
    out = []
    for call_id, ours in sorted(by_id.items()):
        if len(ours) == 1 or (len({each.digests for each in ours}) == 1 and ours[0].digests):
            out.append(ours[0])
            continue
        problem = Problem(
            code=DUPLICATE_CALL_ID,
            call_id=call_id,
            file="call.json",
            pointer="/call_id",
            found=f"stands in {len(ours)} different bundles",
            expected="one bundle a call id",
            remedy="none of them is scored; give each call its own id",
        )
        out.append(_unusable(call_id, DUPLICATE_CALL_ID, problem))
    return out


def _call_row(
    bundle: Bundle, problems: Sequence[Problem], tags: Mapping[str, str]
) -> dict[str, Any]:
    call = bundle.call
    config = canonical_bytes(dict(call.agent.config)).decode()
    agent = {"name": call.agent.name, "config": config}
    unreadable = {f"{part}_unparseable" for part in _PARTS}
    trace = bundle.trace
    return {
        "call_id": call.call_id,
        "population": call.population,
        "scenario_id": call.scenario_id,
        "condition": call.condition,
        "group": call.group,
        "trial": call.trial,
        "agent_name": call.agent.name,
        "agent_fingerprint": call.agent.fingerprint or "sha256:" + digest_json(agent)[:16],
        "ended_at": call.ended_at,
        "ended_by": call.ended.by,
        "ended_reason": call.ended.reason,
        "exclusion_reason": None if call.exclusion is None else call.exclusion.reason,
        "has_trace": trace is not None,
        "has_transcript": bundle.transcript is not None,
        "has_verdicts": bundle.verdicts is not None,
        "unreadable": sorted({each.code for each in problems} & unreadable),
        "responses": None if trace is None or trace.responses is None else _json(trace.responses),
        "tags": _json(dict(call.tags)),
        **{column: call.tags.get(tag) for column, tag in tags.items()},
    }


def _state_rows(bundle: Bundle) -> list[dict[str, Any]]:
    state = bundle.state
    if state is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "after": _json(state.after),
            "expected": _json(state.expected),
            "after_sha256": state.after_sha256,
            "expected_sha256": state.expected_sha256,
            "user_after": _json(state.user_after),
            "user_after_sha256": state.user_after_sha256,
        }
    ]


def _answer_rows(bundle: Bundle) -> list[dict[str, Any]]:
    recorded = bundle.verdicts
    if recorded is None:
        return []
    return [
        {
            "call_id": bundle.call.call_id,
            "question": answer.question,
            "verdict": answer.verdict,
            "score": answer.score,
            "reason": answer.reason,
            "model": recorded.model,
            "undetermined": None,
        }
        for answer in recorded.answers
    ]


def _json(value: Any) -> str | None:
    return None if value is None else canonical_bytes(value).decode("utf-8")
