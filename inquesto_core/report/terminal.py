"""A record as a person reads it in a terminal: plain text of at most 80 columns.

Two lines may be longer, because they are there to be copied whole: the citation line, which comes
first, and the signature, which comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.escape import clip_columns, display_width, escape_terminal, wrap_columns
from inquesto_core.score.signature import parse_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NOTHING", "WIDTH", "score_lines"]

WIDTH = 80
NOTHING = "–"

_NAME_COLUMNS = 12
_LOOK_FIRST = 5

Record = dict[str, Any]


def score_lines(record: Record, decisions: pl.DataFrame | None = None) -> list[str]:
    """Return a record as lines of text, the citation line first.

    Parameters
    ----------
    record : dict
        As `inquesto_core.score.record.build_record` returns it.
    decisions : decision table, optional
        Of this agent, or of all agents of the run: from it come the ids of the calls to look at
        first, which a record does not hold.
    """
    timed_alone = _is_timing_only(record)
    scored = [] if timed_alone else [_thresholds(record), _variants(record)]
    parts = [
        [escape_terminal(record["citation"])],
        _reading(record),
        [] if timed_alone else _views(record),
        _timed_events(record["timing_only"]) if timed_alone else _events(record),
        *scored,
        _conduct(record["diagnostics"]) if "diagnostics" in record else [],
        _accounting(record) if "accounting" in record else [],
        [] if decisions is None else _look_first(record, decisions),
        [f"Signature: {escape_terminal(record['signature']['text'])}"],
    ]
    lines: list[str] = []
    for part in filter(None, parts):
        lines += [*([""] if lines else []), *part]
    return lines


def _is_timing_only(record: Record) -> bool:
    """Return whether a record holds calls without a scenario alone, so that there is no score."""
    held = record.get("accounting")
    return held is not None and record.get("timing_only") is not None and not held["expected"]


def _timed_events(timed: Mapping[str, Any]) -> list[str]:
    lines = [
        "Events that sound alone shows, one a type and call",
        "  " + " · ".join(f"{level} {n}" for level, n in timed["events_by_severity"].items()),
    ]
    return lines + [
        f"      {escape_terminal(name):<20} {n:>6}" for name, n in timed["events_by_type"].items()
    ]


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"


def _rate(part: Mapping[str, Any]) -> str:
    """Return score, interval and n in columns; an empty slice has dashes for both."""
    low, high = part["lo"], part["hi"]
    interval = NOTHING if low is None else f"{low:.1f}–{high:.1f}"
    return f"{_percent(part['score']):>6}  {interval:<11}  {part['n']:>6}"


def _row(name: str, part: Mapping[str, Any], note: str = "") -> str:
    shown = clip_columns(escape_terminal(name), _NAME_COLUMNS)
    line = f"  {shown}{' ' * (_NAME_COLUMNS - display_width(shown))}{_rate(part)}"
    return clip_columns(f"{line}  {escape_terminal(note)}".rstrip(), WIDTH)


def _heading(title: str) -> str:
    return f"{title:<{_NAME_COLUMNS + 2}} score  {'95% CI':<11}  {'n':>6}"


def _reading(record: Record) -> list[str]:
    name = escape_terminal(str(record["agent"]))
    lines = wrap_columns(name, WIDTH, first="Agent: ", rest="  ")
    if _is_timing_only(record):
        text = "No call belongs to a scenario: scored for timing only, without a pass rate."
        how = (
            "For a pass rate: import again with --population FILE and --scenario NAME or --rules "
            "FILE, or write scenario_id into call.json and score with --population."
        )
        return [
            *lines,
            *wrap_columns(text, WIDTH, rest="  "),
            *wrap_columns(how, WIDTH, first="  ", rest="  "),
        ]
    if not record["n"]:
        return [*lines, "No call could be scored."]
    text = (
        f"{record['passed']} of {record['n']} calls reached their goal without a functional failure"
    )
    if parse_signature(record["signature"]["text"]).get("judge") == "none":
        text += ", as far as state, trace and audio show (no judge was asked)"
    return lines + wrap_columns(text + ".", WIDTH, rest="  ")


def _views(record: Record) -> list[str]:
    lines = [_heading("Views")]
    for name, view in record["views"].items():
        notes = []
        if view.get("worst_group") is not None:
            notes.append(f"worst group: {view['worst_group']}")
        if view.get("gap_vs_clean") is not None:
            notes.append(f"gap to clean: {view['gap_vs_clean']:.1f}")
        counted = (key for key in ("false_accepts", "false_rejects") if view.get(key))
        notes += [f"{key.replace('_', ' ')}: {view[key]}" for key in counted]
        lines.append(_row(name, view, ", ".join(notes)))
        for group, part in view.get("by_group", {}).items():
            lines.append(_row(f"- {group}", part))
    return lines


def _events(record: Record) -> list[str]:
    fail_at, severity_of = record["definition"]["fail_at"], record["definition"]["severity"]
    by_severity = record["failures_by_severity"]
    counts = " · ".join(f"{level} {count}" for level, count in by_severity.items())
    lines = [f"Events, one a type and call; S{fail_at} and above fail the call", f"  {counts}"]
    found = sorted(
        record["failures_by_type"].items(),
        key=lambda row: (-severity_of.get(row[0], 0), -row[1], row[0]),
    )
    for name, count in found:
        lines.append(f"  S{severity_of.get(name, '?')}  {escape_terminal(name):<20} {count:>6}")
    return lines


def _thresholds(record: Record) -> list[str]:
    lines = [_heading("Failing at")]
    for name, part in record["severity_sensitivity"].items():
        notes = []
        if part["threshold"] == record["definition"]["fail_at"]:
            notes.append("the score")
        if part.get("undetermined_n"):
            notes.append(f"{part['undetermined_n']} undetermined")
        lines.append(_row(f"{name}+", {"n": record["n"], **part}, ", ".join(notes)))
    return lines


def _variants(record: Record) -> list[str]:
    audio, judge_free = record["audio_only"], record.get("judge_free")
    only, failed = audio["failed_only_on_audio_events"], audio["failed"]
    text = (
        f"Transcript only: {_percent(audio['score_if_transcript_only'])}; {only} of {failed} "
        "failed calls fail by audio events alone."
    )
    if judge_free is None:  # a record in the reference's form
        return wrap_columns(text, WIDTH, rest="  ")
    interval = NOTHING
    if judge_free["lo"] is not None:
        interval = f"95% CI {judge_free['lo']:.1f}–{judge_free['hi']:.1f}"
    other = (
        f"Judge-free: {_percent(judge_free['score'])} ({interval}; n = {judge_free['n']}); "
        f"{judge_free['vacuous_n']} of these goals ask for nothing without a judge."
    )
    return wrap_columns(text, WIDTH, rest="  ") + wrap_columns(other, WIDTH, rest="  ")


def _conduct(measured: Mapping[str, Any]) -> list[str]:
    """Return how the agent waits and gives way: outside the score, a line each."""
    both, tool = measured["latency_ms"], measured["latency_by_tool"]["with_tool"]
    barge_in = measured["barge_in"]
    attempt, backchannel = barge_in["attempt"], barge_in["backchannel"]
    latency = (
        f"Latency ms: p50 {_milliseconds(both['p50'])}, p95 {_milliseconds(both['p95'])} "
        f"(n = {both['n']}); with a tool call p50 {_milliseconds(tool['p50'])} (n = {tool['n']})"
    )
    floor = (
        f"Barge-ins yielded to: {attempt['yielded']} of {sum(attempt.values())}, p50 "
        f"{_milliseconds(barge_in['yield_ms']['p50'])} ms; backchannels: "
        f"{backchannel['yielded']} of {sum(backchannel.values())}"
    )
    return [clip_columns(line, WIDTH) for line in (latency, floor)]


def _milliseconds(value: int | None) -> str:
    return NOTHING if value is None else str(value)


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{escape_terminal(name)} {count}" for name, count in counts.items())


def _accounting(record: Record) -> list[str]:
    rows, timing, bounds = record["accounting"], record["timing_uncertainty"], record["bounds"]
    if _is_timing_only(record):
        texts = [f"Calls: {rows['total']}; timed {record['timing_only']['timed']}"]
        return _listed([*texts, *_by_reason(rows, ("timing_only", "excluded"))])
    texts = [
        f"Calls: {rows['total']} (expected {rows['expected']}); in n {rows['in_n']}: scored "
        f"{rows['scored']}, agent fault {rows['agent_fault']}"
    ]
    texts += _by_reason(rows, ("excluded", "not_evaluated"))
    if rows.get("timing_only_n"):
        texts += _by_reason(rows, ("timing_only",))
        texts += _beside(record["timing_only"])
    if rows["excluded_n"]:
        other = _percent(rows["excluded_as_failures"]["score"])
        texts.append(f"score with the excluded calls as failures: {other}")
    if bounds is not None:
        known = bounds["known_fail_n"]
        texts.append(
            f"score with the {bounds['open_n']} open calls all failed or all passed"
            + (f", but {known} that fail in any case" if known else "")
            + f": {_percent(bounds['low'])} to {_percent(bounds['high'])}"
        )
    texts.append(
        f"borderline calls {timing['borderline_n']}; score within the timing uncertainty: "
        f"{_percent(timing['score_low'])} to {_percent(timing['score_high'])}"
    )
    return _listed(texts)


def _by_reason(rows: Mapping[str, Any], states: tuple[str, ...]) -> list[str]:
    """Return how many calls are in each of the states, and why."""
    texts = []
    for state in states:
        text = f"{state.replace('_', ' ')} {rows[state + '_n']}"
        texts.append(f"{text}: {_reasons(rows[state])}" if rows[state] else text)
    return texts


def _beside(timed: Mapping[str, Any]) -> list[str]:
    """Return what timing tells of the calls that have no scenario, beside a score."""
    waits, found = timed["latency_ms"], _reasons(timed["events_by_type"]) or "no event"
    return [
        f"these are in no n; timed {timed['timed']}: {found}; latency p50 "
        f"{_milliseconds(waits['p50'])}, p95 {_milliseconds(waits['p95'])} ms (n = {waits['n']})"
    ]


def _listed(texts: list[str]) -> list[str]:
    lines: list[str] = []
    for text in texts:
        lines += wrap_columns(text, WIDTH, first="  " if lines else "", rest="    ")
    return lines


def _look_first(record: Record, decisions: pl.DataFrame) -> list[str]:
    """Return the failed calls with the worst events, by id; nothing where none failed."""
    ours = pl.col("agent_fingerprint").eq_missing(pl.lit(record["agent_fingerprint"]))
    failed = ~pl.col("passed").fill_null(value=True) | pl.col("known_fail")
    if _is_timing_only(record):
        failed = pl.col("worst_severity") > 0
    found = decisions.filter(ours & failed & pl.col("call_id").is_not_null())
    if found.is_empty():
        return []
    worst = found.sort(["worst_severity", "call_id"], descending=[True, False]).head(_LOOK_FIRST)
    lines = ["Look first at (inquesto-core explain RUN CALL)"]
    for call_id, severity in worst.select("call_id", "worst_severity").iter_rows():
        told = severity >= record["definition"]["fail_at"] or _is_timing_only(record)
        cause = f"S{severity}" if told else "goal"
        lines.append(clip_columns(f"  {cause:<5} {escape_terminal(call_id)}", WIDTH))
    return lines
