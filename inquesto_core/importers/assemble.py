"""How a draft becomes a bundle: place, recording, window and names put together and checked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import (
    Agent,
    AudioFile,
    Call,
    Inferred,
    ToolTrace,
    Transcript,
    TranscriptTurn,
    bundle_files,
)
from inquesto_core.errors import BundleError, Problem, SchemaError
from inquesto_core.importers.clock import MAX_TIME_MS
from inquesto_core.importers.fields import LABEL_CHARACTERS
from inquesto_core.importers.plausible import length_problems, plausible_turns, untimed
from inquesto_core.importers.recordings import Recorded, find_recordings
from inquesto_core.importers.rules import place_of

if TYPE_CHECKING:
    from inquesto_core.importers.draft import Draft, ImportOptions

__all__ = ["Assembled", "assemble"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A bundle that is ready to be written.

    Parameters
    ----------
    files : dict of name to bytes
        Its JSON files.
    sources : tuple of Path
        The recordings, in the order of `entries`, to be copied to their `file`.
    inferred : tuple of Inferred
        As call.json has it.
    """

    files: dict[str, bytes]
    sources: tuple[Path, ...]
    entries: tuple[AudioFile, ...]
    inferred: tuple[Inferred, ...]
    problems: tuple[Problem, ...]
    has_scenario: bool


def assemble(
    draft: Draft, options: ImportOptions, *, export: Path, export_is_one_call: bool
) -> Assembled:
    """Return the bundle of a draft.

    Raises
    ------
    BundleError, SchemaError
        What the export does not say and the user has not said either; each names the option.
    """
    place = place_of(
        draft, population=options.population, rules=options.rules, said=options.scenario
    )
    recorded = Recorded()
    if draft.is_recorded:
        recorded = find_recordings(
            draft, options, export=export, export_is_one_call=export_is_one_call
        )
    entries = tuple(
        replace(entry, sha256=_sha256(source))
        for entry, source in zip(recorded.entries, recorded.sources, strict=True)
    )
    turns, turn_problems = _placed_turns(draft, recorded.duration_ms)
    lengths = length_problems(draft, recorded.duration_ms)
    window, window_inferred, window_problems = _window(draft, is_known=not lengths)
    agent, agent_inferred = _agent(draft, options)
    call = Call(
        call_id=draft.call_id,
        agent=agent,
        audio=entries,
        population=place.population,
        scenario_id=place.scenario_id,
        condition=place.condition,
        group=place.group,
        trial=place.trial,
        platform=draft.platform,
        direction=draft.direction,
        started_at=draft.started_at,
        ended_at=draft.ended_at,
        ended=draft.ended,
        scored_window_ms=window,
        exclusion=recorded.exclusion,
        timing_reasons=tuple(
            sorted(
                {
                    *draft.timing_reasons,
                    *recorded.timing_reasons,
                    *(["duration_mismatch"] if lengths else []),
                }
            )
        ),
        inferred=(
            *agent_inferred,
            *place.inferred,
            *recorded.inferred,
            *window_inferred,
            *draft.inferred,
            *_untimed_tools(draft),
        ),
        tags=dict(draft.tags),
    )
    try:
        files = bundle_files(
            call,
            trace=_trace(draft),
            transcript=None if turns is None else Transcript(source=draft.platform, turns=turns),
            state=draft.state,
            timing=draft.timing,
            verdicts=draft.verdicts,
        )
    except SchemaError as exc:
        raise SchemaError(_unheld(exc.problem, draft)) from exc
    return Assembled(
        files=files,
        sources=recorded.sources,
        entries=entries,
        inferred=call.inferred,
        has_scenario=call.scenario_id is not None,
        problems=(
            *draft.problems,
            *recorded.problems,
            *turn_problems,
            *lengths,
            *window_problems,
        ),
    )


def _untimed_tools(draft: Draft) -> tuple[Inferred, ...]:
    """Return that no time of a tool call is known, where there are calls."""
    if not draft.tools or any(tool.start_ms is not None for tool in draft.tools):
        return ()
    how = "no times of tool calls are known from the export: waits for tools cannot be told"
    return (Inferred(field="/trace/calls/start_ms", value=None, how=how),)


def _trace(draft: Draft) -> ToolTrace | None:
    """Return the trace; without one nobody knows what was done, and stages do not say it."""
    if draft.tools is None:
        return None
    return ToolTrace(
        calls=draft.tools,
        caller_calls=draft.caller_tools,
        responses=draft.responses,
        stages=draft.stages,
    )


def _unheld(problem: Problem, draft: Draft) -> Problem:
    """Return what is wrong with a value that no bundle can hold, as the export's."""
    return Problem(
        code="export_field",
        call_id=draft.call_id if len(draft.call_id) <= LABEL_CHARACTERS else None,
        found=f"gives a {problem.file} whose {problem.pointer or 'whole'} {problem.found}",
        expected=problem.expected,
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise BundleError(
            Problem(
                code="recording_missing",
                file=path.name,
                found=f"cannot be read: {exc.strerror}",
                expected="a readable file",
            )
        ) from exc


def _agent(draft: Draft, options: ImportOptions) -> tuple[Agent, tuple[Inferred, ...]]:
    name = options.agent or draft.agent_name
    if name is None:
        raise BundleError(
            Problem(
                code="agent_unstated",
                call_id=draft.call_id,
                found="names no agent",
                expected="whose calls these are",
                remedy="name the agent with --agent",
            )
        )
    agent = Agent(name=name, fingerprint=draft.agent_fingerprint, config=dict(draft.agent_config))
    if options.agent is None:
        return agent, ()
    how = "said on the command line"
    return agent, (Inferred(field="/agent/name", value=name, how=how),)


def _window(
    draft: Draft, *, is_known: bool
) -> tuple[tuple[int, int] | None, tuple[Inferred, ...], tuple[Problem, ...]]:
    """Return the scored window: it closes with what ends the call for its agent first."""
    if not draft.ended_ms or not is_known:
        return None, (), ()
    at_ms, what = min(draft.ended_ms)
    if not 0 < at_ms <= MAX_TIME_MS:
        problem = Problem(
            code="times_left_out",
            found=f"says that {what} was {at_ms} ms after the start of the recording",
            expected="an end within it",
            remedy="the scored window is left open: check which recording this is",
            level="warning",
        )
        return None, (), (problem,)
    how = f"it closes with {what}"
    inferred = Inferred(field="/scored_window_ms", value=[0, at_ms], how=how)
    return (0, at_ms), (inferred,), ()


def _placed_turns(
    draft: Draft, duration_ms: int | None
) -> tuple[tuple[TranscriptTurn, ...] | None, tuple[Problem, ...]]:
    """Return the turns without times that a bundle cannot hold: before its start, or all 0."""
    turns = draft.turns
    if turns is None:
        return None, ()
    times = {at for turn in turns for at in (turn.start_ms, turn.end_ms) if at is not None}
    if times == {0}:
        return tuple(map(untimed, turns)), (_left_out(len(turns), "are all 0"),)
    early = [at for at, turn in enumerate(turns) if _is_outside(turn)]
    if not early:
        return plausible_turns(draft, turns, duration_ms)
    outside = set(early)
    kept = tuple(untimed(turn) if at in outside else turn for at, turn in enumerate(turns))
    told = (_left_out(len(early), "are before the start of the recording"),)
    plausible, problems = plausible_turns(draft, kept, duration_ms)
    return plausible, (*told, *problems)


def _is_outside(turn: TranscriptTurn) -> bool:
    times = [turn.start_ms, turn.end_ms]
    times += [at for word in turn.words for at in (word.start_ms, word.end_ms)]
    return any(at is not None and not 0 <= at <= MAX_TIME_MS for at in times)


def _left_out(n_turns: int, why: str) -> Problem:
    return Problem(
        code="times_left_out",
        found=f"has the times of {n_turns} turns left out: they {why}",
        expected="times from the start of the recording",
        level="warning",
    )
