"""What an importer makes of one call of an export, before its recording is looked for.

Times are milliseconds from the start of the recording and may be negative: what happened before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inquesto_core.bundle import Ended, Inferred, ToolCall, TranscriptTurn

if TYPE_CHECKING:
    from inquesto_core.bundle import (
        FinalState,
        RecordedVerdicts,
        ReportedStages,
        ReportedTiming,
    )
    from inquesto_core.errors import Problem
    from inquesto_core.importers.rules import ScenarioRule
    from inquesto_core.protocol import Population

__all__ = ["Draft", "ImportOptions", "Side", "ToldLength", "Track"]

Side = Literal["caller", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One file of the recording, as the export knows it.

    Parameters
    ----------
    names : tuple of str
        What the export calls the file: names, paths or addresses, of which the last part counts.
    side : {"caller", "agent"} or None
        Whose track it is; None = both sides are in it.
    caller, agent : int or None
        Channels, where the recorder's order is known; then `known_by` says how.
    only_named : bool
        The order holds for the file that the export names, and for no other.
    redacted_names : tuple of str
        Those of `names` that are files from which words were cut out.
    folder : Path or None
        Where the platform lays it; None = beside the export. What the user says comes first.
    ask : str
        What else than ``--caller-channel`` settles whose channel is whose.
    start_ms : int
        When its first sample was recorded.
    started_by : str
        How that is known, where the export does not say it.
    duration_ms, sample_rate_hz : int or None
        What the recorder says of it.
    """

    names: tuple[str, ...] = ()
    side: Side | None = None
    caller: int | None = None
    agent: int | None = None
    known_by: str | None = None
    only_named: bool = False
    redacted_names: tuple[str, ...] = ()
    folder: Path | None = None
    ask: str = ""
    start_ms: int = 0
    started_by: str = ""
    duration_ms: int | None = None
    sample_rate_hz: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldLength:
    """How long an export says that the call was.

    Parameters
    ----------
    field : str
        The export's name of it.
    shown : str
        The value that stands there.
    unit : str
        In which it counts, in words.
    """

    field: str
    shown: str
    unit: str
    length_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One call as its export tells it.

    Parameters
    ----------
    tracks : tuple of Track
        The files of the recording.
    other_tracks : tuple of tuple of Track
        What the platform gives beside them, each instead of `tracks`, the best first.
    tools : tuple of ToolCall or None
        In order; None = the export holds no trace.
    caller_tools : tuple of ToolCall or None
        What a simulated caller did with tools of its own; None = the export does not tell.
    responses : tuple of mapping or None
        What the agent returned as its result; None = the export holds none. As the caller's tools
        it is written where the export holds a trace.
    turns : tuple of TranscriptTurn or None
        In order; None = the export holds no transcript.
    facts : mapping of str to tuple of str
        What scenario rules may ask for; never written.
    ended_ms : tuple of (int, str)
        When the call may have ended for its agent, and by what: hang-up, end of call, transfer.
    lengths : tuple of ToldLength
        How long the export says that the call was.
    turn_times : tuple of (str, str) or None
        The field that the times of `turns` are read from, and its unit.
    timing, verdicts : optional
        Timing that a runtime reported, and answers that came with the call.
    stages : ReportedStages or None
        How long the stages of the agent's answers took, as the platform says; written where the
        export holds a trace.
    is_recorded : bool
        False = the platform keeps no recording; none is looked for.
    timing_reasons : tuple of str
        Why nobody can measure this call's timing.
    """

    call_id: str
    platform: str
    tracks: tuple[Track, ...] = ()
    other_tracks: tuple[tuple[Track, ...], ...] = ()
    agent_name: str | None = None
    agent_fingerprint: str | None = None
    agent_config: Mapping[str, Any] = field(default_factory=dict)
    direction: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    ended: Ended = field(default_factory=Ended)
    tools: tuple[ToolCall, ...] | None = None
    caller_tools: tuple[ToolCall, ...] | None = None
    responses: tuple[Mapping[str, Any], ...] | None = None
    turns: tuple[TranscriptTurn, ...] | None = None
    state: FinalState | None = None
    timing: ReportedTiming | None = None
    stages: ReportedStages | None = None
    verdicts: RecordedVerdicts | None = None
    is_recorded: bool = True
    scenario: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    ended_ms: tuple[tuple[int, str], ...] = ()
    lengths: tuple[ToldLength, ...] = ()
    turn_times: tuple[str, str] | None = None
    timing_reasons: tuple[str, ...] = ()
    inferred: tuple[Inferred, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user says about a platform's exports.

    Parameters
    ----------
    recordings : Path or None
        The recording, or the folder in which each call's lies; None = beside the export.
    no_audio : bool
        The calls have no recording: their timing is not evaluated.
    recorder : str or None
        Which of a platform's recorders wrote the files.
    caller_channel, agent_channel : int or None
        0-based channels; of two channels one is enough.
    agent : str or None
        The agent's name, where the export has none or another shall stand.
    skip_roles : frozenset of str
        Rows of these roles are neither speech nor action.
    recording_started_ms : int or None
        When the recording began, ms from 1970, where the export does not say.
    population, rules, scenario
        Which scenario a call belongs to.
    population_file : Path or None
        Laid beside the bundles, so that they can be scored as they are.
    mapping : JSON value
        What a generic export's fields mean.
    """

    recordings: Path | None = None
    no_audio: bool = False
    recorder: str | None = None
    caller_channel: int | None = None
    agent_channel: int | None = None
    agent: str | None = None
    skip_roles: frozenset[str] = frozenset()
    recording_started_ms: int | None = None
    population: Population | None = None
    population_file: Path | None = None
    rules: tuple[ScenarioRule, ...] = ()
    scenario: Mapping[str, Any] = field(default_factory=dict)
    mapping: Any = None
