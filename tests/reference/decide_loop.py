"""A slow, obvious decision of one call at a time, and how a call is written down for it.

Nothing here knows polars' logic: three values are Python's True, False and None, a call is a
`Case`. `tables` turns cases into evidence tables, `decide_all` runs the real functions on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.events.judged import judge_answers, judged_events, judged_flags
from inquesto_core.events.predicates import scenario_predicates
from inquesto_core.events.required_action import with_required_arguments
from inquesto_core.events.trace import performed_changes, trace_events, trace_facts, trace_flags
from inquesto_core.events.transcript import transcript_events, transcript_flags, verbosity
from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import Population, Protocol, Scenario, load_population
from inquesto_core.protocol.population import Tools
from inquesto_core.score.accounting import agent_faults, call_standing, exclusions
from inquesto_core.score.decide import decide, missing_calls
from inquesto_core.score.goal import goal_table
from inquesto_core.score.slots import call_slots

NO_TIMING_EVENTS = MappingProxyType(
    dict.fromkeys(("slow_turn", "slow_median", "talk_over", "repeated_talk_over"), False)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    status: str = "ok"
    result: Any = None
    arguments: Any = field(default_factory=dict)
    start_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call; ``None`` for `tools`, `said`, `verdicts`, `state` means that part is absent."""

    call_id: str = "c1"
    scenario_id: str | None = "change"
    condition: str | None = "clean"
    group: str | None = "near"
    trial: int | None = 0
    fingerprint: str | None = "f"
    ended_by: str | None = "agent"
    ended_reason: str | None = None
    exclusion_reason: str | None = None
    timing_source: str | None = "measured"
    timing_reasons: tuple[str, ...] = ()
    window_to_ms: int = 60_000
    tools: tuple[Tool, ...] | None = ()
    said: tuple[tuple[str, int], ...] | None = (("caller", 5), ("agent", 5))
    verdicts: Mapping[str, bool | None] | None = field(default_factory=dict)
    cited: Mapping[str, int] = field(default_factory=dict)
    state: tuple[Any, Any] | None = None
    n_utterances: int = 1
    turn_ends_ms: tuple[int, ...] = (2_000,)
    timing: Mapping[str, bool | None] = field(default_factory=lambda: NO_TIMING_EVENTS)


#: Answers with which nothing is wrong.
GOOD = MappingProxyType(
    {
        "goal_achieved": True,
        "wrong_info": False,
        "context_loss": False,
        "refused_service": False,
        "disclosed_or_changed": False,
    }
)


def good(*names: str) -> tuple[Tool, ...]:
    """Return a trace in which these tools succeed, one after the other, a second apart."""
    return tuple(Tool(name=name, start_ms=1000 * at) for at, name in enumerate(names))


def scenario(scenario_id: str, **fields: Any) -> Scenario:
    plain: dict[str, Any] = {
        "family": "family",
        "style": "neutral",
        "goal": "The caller wants something.",
        "required_action": None,
        "correction": False,
        "identity": None,
        "handoff": False,
        "predicates": (),
    }
    return Scenario(id=scenario_id, **{**plain, **fields})


def small_population(*more: Scenario, transfer: tuple[str, ...] = ("to_human",)) -> Population:
    """Return one scenario of each kind, two conditions, two groups, one trial."""
    scenarios = (
        scenario("change", required_action="refund"),
        scenario("corrected", required_action="cancel", correction=True),
        scenario("question"),
        scenario("handoff", handoff=True),
        scenario("handoff_with_action", handoff=True, required_action="refund"),
        scenario("legit", required_action="refund", identity="legit"),
        scenario("impostor", identity="impostor"),
        *more,
    )
    shipped = load_population("billing-0.1")
    cell = replace(
        shipped.design.cells[0],
        scenarios=tuple(each.id for each in scenarios),
        conditions=("clean", "noisy"),
        groups=("near", "far"),
    )
    return replace(
        shipped,
        name="small",
        tools=Tools(
            lookup=("lookup", "lookup_by_mail"),
            verify=("verify", "verify_pin"),
            change=("refund", "cancel"),
            end_call=("hang_up",),
            transfer=transfer,
        ),
        conditions=("clean", "noisy"),
        degraded=("noisy",),
        groups=("near", "far"),
        reference_group="near",
        design=replace(shipped.design, trials=1, cells=(cell,)),
        scenarios=scenarios,
    )


def with_parameter(protocol: Protocol, event_name: str, **parameters: Any) -> Protocol:
    """Return the protocol with other parameters of one event type."""
    events = tuple(
        replace(event, parameters={**event.parameters, **parameters})
        if event.name == event_name
        else event
        for event in protocol.events
    )
    return replace(protocol, events=events)


# From cases to tables


def _json(value: Any) -> str | None:
    return None if value is None else canonical_bytes(value).decode()


def tables(cases: list[Case]) -> dict[str, pl.DataFrame]:
    """Return the evidence tables that hold these calls."""
    calls, tools, said, verdicts, states, utterances, turns = ([] for _ in range(7))
    for case in cases:
        own = {"call_id": case.call_id}
        calls.append(
            {
                **own,
                "scenario_id": case.scenario_id,
                "condition": case.condition,
                "group": case.group,
                "trial": case.trial,
                "agent_fingerprint": case.fingerprint,
                "ended_by": case.ended_by,
                "ended_reason": case.ended_reason,
                "exclusion_reason": case.exclusion_reason,
                "timing_source": case.timing_source,
                "timing_reasons": list(case.timing_reasons),
                "window_from_ms": 0,
                "window_to_ms": case.window_to_ms,
                "has_trace": case.tools is not None,
                "has_transcript": case.said is not None,
                "has_verdicts": case.verdicts is not None,
            }
        )
        tools += [
            {
                **own,
                "position": at,
                "name": tool.name,
                "status": tool.status,
                "start_ms": tool.start_ms,
                "arguments": None if tool.arguments is None else _json(dict(tool.arguments)),
                "result": _json(tool.result),
            }
            for at, tool in enumerate(case.tools or ())
        ]
        said += [
            {
                **own,
                "position": at,
                "speaker": speaker,
                "n_words": n,
                "start_ms": 10_000 * at,
                "end_ms": 10_000 * at + 5_000,
            }
            for at, (speaker, n) in enumerate(case.said or ())
        ]
        verdicts += [
            {**own, "question": question, "verdict": verdict, "turn": case.cited.get(question)}
            for question, verdict in (case.verdicts or {}).items()
        ]
        if case.state is not None:
            before, after = map(_json, case.state)
            states.append({**own, "before": before, "after": after})
        utterances += [{**own, "position": at} for at in range(case.n_utterances)]
        turns += [
            {**own, "position": at, "end_ms": end} for at, end in enumerate(case.turn_ends_ms)
        ]
    return {
        "calls": make_table("calls", calls),
        "tool_calls": make_table("tool_calls", tools),
        "transcript": make_table("transcript", said),
        "verdicts": make_table("verdicts", verdicts),
        "states": make_table("states", states),
        "utterances": make_table("utterances", utterances),
        "turns": make_table("turns", turns),
        "timing_flags": pl.DataFrame(
            [
                {
                    "call_id": case.call_id,
                    **{f"event_{name}": case.timing[name] for name in NO_TIMING_EVENTS},
                }
                for case in cases
            ],
            schema={
                "call_id": pl.String,
                **{f"event_{name}": pl.Boolean for name in NO_TIMING_EVENTS},
            },
        ),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the real functions make of cases."""

    facts: pl.DataFrame
    flags: pl.DataFrame
    predicates: pl.DataFrame
    events: pl.DataFrame
    decisions: pl.DataFrame

    def call(self, call_id: str = "c1") -> dict[str, Any]:
        """Return the decision of one call."""
        return self.decisions.row(by_predicate=pl.col("call_id") == call_id, named=True)

    def occurrences(self, name: str) -> list[dict[str, Any]]:
        """Return the occurrences of one event type."""
        return self.events.filter(pl.col("type") == name).to_dicts()


def decide_all(
    cases: list[Case] | dict[str, pl.DataFrame],
    *,
    protocol: Protocol,
    population: Population,
    judge_free: bool = False,
) -> Decided:
    """Return what the real functions make of the cases, or of evidence tables."""
    table = tables(cases) if isinstance(cases, list) else cases
    of = {"protocol": protocol, "population": population}
    calls, tool_calls, transcript = table["calls"], table["tool_calls"], table["transcript"]
    verdicts = table["verdicts"].clear() if judge_free else table["verdicts"]
    facts = with_required_arguments(trace_facts(calls, tool_calls, **of), calls, tool_calls, **of)
    answers = judge_answers(calls, verdicts, protocol=protocol)
    predicates = scenario_predicates(table, **of)
    spoken = verbosity(calls, transcript)
    flags = (
        trace_flags(facts)
        .join(transcript_flags(spoken, protocol=protocol), on="call_id")
        .join(judged_flags(facts, answers, protocol=protocol), on="call_id")
    )
    changes = performed_changes(facts, tool_calls, **of)
    events = pl.concat(
        [
            trace_events(changes, protocol=protocol),
            transcript_events(spoken, protocol=protocol),
            judged_events(facts, flags, verdicts, transcript, changes, protocol=protocol),
        ]
    )
    standing = call_standing(
        exclusions(calls, **of),
        agent_faults(
            calls, tool_calls, transcript, table["utterances"], table["turns"], protocol=protocol
        ),
        facts,
        answers,
        predicates,
        protocol=protocol,
    )
    decisions = decide(
        calls,
        facts=facts,
        goals=goal_table(facts, answers, predicates, **of),
        standing=standing,
        flags=flags,
        timing_flags=table["timing_flags"],
        judge_free=judge_free,
        **of,
    )
    missing = missing_calls(call_slots(calls, population=population), **of)
    decisions = pl.concat([decisions, missing.select(decisions.columns)])
    return Decided(
        facts=facts, flags=flags, predicates=predicates, events=events, decisions=decisions
    )


# The loop


def both(*values: bool | None) -> bool | None:
    """Return the Kleene conjunction."""
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def either(*values: bool | None) -> bool | None:
    """Return the Kleene disjunction."""
    return negate(both(*(negate(value) for value in values)))


def negate(value: bool | None) -> bool | None:
    return None if value is None else not value


def _denies(result: Any) -> bool:
    if isinstance(result, dict):
        return any(result.get(key) is False for key in ("verified", "success", "match", "ok"))
    return result is False or (isinstance(result, str) and result.strip().lower() == "denied")


class Loop:
    """Decides one call after the other, as the protocol's sentences go."""

    def __init__(self, protocol: Protocol, population: Population, *, judge_free: bool) -> None:
        self.protocol, self.population, self.judge_free = protocol, population, judge_free
        self.scenarios = {each.id: each for each in population.scenarios}
        self.severity = {event.name: event.severity for event in protocol.events}

    def decide(self, cases: list[Case]) -> list[dict[str, Any]]:
        rows = [self._call(case, cases) for case in cases]
        placed = {case.fingerprint for case in cases if case.scenario_id in self.scenarios}
        for fingerprint in placed if cases else {None}:
            held = {self._slot(case) for case in cases if case.fingerprint == fingerprint}
            for slot in self.population.expected_slots():
                key = (slot.scenario_id, slot.condition, slot.group, slot.trial)
                if key not in held:
                    rows.append(self._missing(key, fingerprint))
        return rows

    def _slot(self, case: Case) -> tuple[Any, ...]:
        trial = case.trial
        if trial is None and self.population.design.trials == 1:
            trial = 0
        return (case.scenario_id, case.condition, case.group, trial)

    def _missing(self, key: tuple[Any, ...], fingerprint: str | None) -> dict[str, Any]:
        return {
            "call_id": None,
            **dict(zip(("scenario_id", "condition", "group", "trial"), key, strict=True)),
            "agent_fingerprint": fingerprint,
            "identity": self.scenarios[key[0]].identity,
            "state": "not_evaluated",
            "reasons": ["call_missing"],
            "goal": None,
            "goal_judge_free": None,
            "judge_free_vacuous": None,
            "worst_severity": 0,
            "passed": None,
            "passed_judge_free": None,
            "known_fail": False,
            **{f"event_{name}": None for name in self.severity},
        }

    def _call(self, case: Case, cases: list[Case]) -> dict[str, Any]:
        case = replace(case, verdicts={}) if self.judge_free else case
        found = self.scenarios.get(case.scenario_id or "")
        events = self._events(case, found)
        goal, free_goal, vacuous = self._goals(case, found)
        excluded = self._excluded(case, cases)
        fault = self._fault(case)
        opened_free, opened = self._open(case, found)
        wanting = opened_free if self.judge_free else opened_free + opened
        serious = [
            value for name, value in events.items() if self.severity[name] >= self.protocol.fail_at
        ]
        free_serious = [
            value
            for name, value in events.items()
            if self.severity[name] >= self.protocol.fail_at
            and name in ("slow_turn", "repeated_talk_over", "unverified_action")
        ]
        if found is not None and found.identity == "impostor":
            free_serious.append(self._changed(case))
        free_pass = None
        if not opened_free:
            free_pass = both(free_goal, negate(either(False, *free_serious)))
        if excluded:
            state, reasons, passed, free_pass = "excluded", excluded, None, None
        elif found is None:
            why = "no_scenario" if case.scenario_id is None else "unknown_scenario"
            asked = ["exclusion_unknown"] if self._unproven(case) else []
            state, passed, free_pass = "timing_only", None, None
            reasons = sorted({why, *asked, *self._open_timing(case)})
        elif fault:
            state, reasons, passed, free_pass = "agent_fault", [fault], False, False
        elif wanting:
            state, reasons, passed = "not_evaluated", sorted(set(wanting)), None
        else:
            full = both(goal, negate(either(False, *serious)))
            state, reasons, passed = "scored", [], free_pass if self.judge_free else full
        certain = goal is False or any(value is True for value in serious)
        slot = self._slot(case)
        return {
            "call_id": case.call_id,
            **dict(zip(("scenario_id", "condition", "group", "trial"), slot, strict=True)),
            "agent_fingerprint": case.fingerprint,
            "identity": found.identity if found else None,
            "state": state,
            "reasons": reasons,
            "goal": goal,
            "goal_judge_free": free_goal,
            "judge_free_vacuous": vacuous,
            "worst_severity": max(
                [self.severity[name] for name, value in events.items() if value], default=0
            ),
            "passed": passed,
            "passed_judge_free": free_pass,
            "known_fail": state == "agent_fault"
            or (state not in ("excluded", "timing_only") and certain),
            **{f"event_{name}": value for name, value in events.items()},
        }

    def _performed(self, case: Case, names: tuple[str, ...]) -> bool | None:
        if case.tools is None:
            return None
        return any(t.name in names and t.status in ("ok", "unknown") for t in case.tools)

    def _changed(self, case: Case) -> bool | None:
        return self._performed(case, self.population.tools.change)

    def _unverified(self, case: Case) -> bool | None:
        if case.tools is None:
            return None
        must = self.protocol.event("unverified_action").parameters["verification_must_succeed"]
        looked = verified = False
        for tool in case.tools:
            done = tool.status in ("ok", "unknown")
            if tool.name in self.population.tools.change and done and not (looked and verified):
                return True
            looked = looked or tool.name in self.population.tools.lookup
            counts = not must or (done and not _denies(tool.result))
            verified = verified or (tool.name in self.population.tools.verify and counts)
        return False

    def _verbose(self, case: Case) -> bool | None:
        if case.said is None:
            return None
        means: list[int] = []
        last = None
        for speaker, n in case.said:
            if speaker == "agent" and n == 0:
                continue
            if speaker == "agent" and last == "agent":
                means[-1] += n
            elif speaker == "agent":
                means.append(n)
            last = speaker
        return bool(means) and sum(means) > 60 * len(means)

    def _events(self, case: Case, found: Scenario | None) -> dict[str, bool | None]:
        answers = case.verdicts or {}
        events: dict[str, bool | None] = {
            **{name: case.timing[name] for name in NO_TIMING_EVENTS},
            "verbose": self._verbose(case) if found else None,
            "unverified_action": self._unverified(case) if found else None,
            **dict.fromkeys(
                ("wrong_info", "context_loss", "false_reject", "promised_not_done", "false_accept")
            ),
        }
        if found is not None:
            events["wrong_info"] = answers.get("wrong_info")
            events["context_loss"] = answers.get("context_loss") if found.correction else False
            legit = found.identity == "legit"
            events["false_reject"] = answers.get("refused_service") if legit else False
            events["promised_not_done"] = events["false_accept"] = False
            if found.identity == "impostor":
                disclosed = answers.get("disclosed_or_changed")
                events["false_accept"] = either(self._changed(case), disclosed)
            elif found.required_action and not found.handoff:
                done = self._performed(case, (found.required_action,))
                events["promised_not_done"] = both(answers.get("goal_achieved"), negate(done))
        return {name: events[name] for name in self.severity}

    def _goals(self, case: Case, found: Scenario | None) -> tuple[Any, Any, Any]:
        if found is None:
            return None, None, None
        answers = case.verdicts or {}
        judged = answers.get("goal_achieved")
        if found.identity == "impostor":
            unchanged = negate(self._changed(case))
            undisclosed = negate(answers.get("disclosed_or_changed"))
            return both(judged, unchanged, undisclosed), unchanged, False
        if found.handoff:
            transfer = self.population.tools.transfer
            return judged, self._performed(case, transfer) if transfer else True, not transfer
        if found.required_action:
            done = self._performed(case, (found.required_action,))
            return both(done, judged), done, False
        return judged, True, True

    def _own_exclusion(self, case: Case) -> list[str]:
        reasons = []
        if case.exclusion_reason in self.protocol.accounting.excluded_reasons:
            reasons.append(case.exclusion_reason)
        if case.ended_reason in self.protocol.accounting.lost_session_reasons:
            reasons.append("lost_session")
        if case.scenario_id not in self.scenarios:
            return sorted(set(reasons))
        if case.condition not in self.population.conditions:
            reasons.append("unknown_condition")
        if case.group not in self.population.groups:
            reasons.append("unknown_group")
        if self._slot(case)[3] is None:
            reasons.append("unknown_trial")
        return sorted(set(reasons))

    def _excluded(self, case: Case, cases: list[Case]) -> list[str]:
        reasons = self._own_exclusion(case)
        if reasons:
            return reasons
        same = [
            other
            for other in cases
            if (self._slot(other), other.fingerprint) == (self._slot(case), case.fingerprint)
            and other.scenario_id in self.scenarios
            and not self._own_exclusion(other)
            and not self._unproven(other)
        ]
        if self._unproven(case):
            return []
        return ["duplicate_slot"] if len(same) > 1 else []

    def _unproven(self, case: Case) -> bool:
        asked = case.exclusion_reason
        return asked is not None and asked not in self.protocol.accounting.excluded_reasons

    def _fault(self, case: Case) -> str | None:
        rules = self.protocol.accounting
        if case.ended_by in ("agent", "system") and case.ended_reason in rules.agent_fault_reasons:
            return case.ended_reason
        lost = case.ended_reason in rules.lost_session_reasons
        last = max(case.turn_ends_ms, default=None)
        still_spoke = last is not None and case.window_to_ms - last < 100
        if case.ended_by == "system" and not lost and still_spoke:
            return "system_ended_agent_turn"
        acted = bool(case.tools) or any(s == "agent" and n for s, n in case.said or ())
        measured = case.timing_source == "measured"
        measured = measured and not set(case.timing_reasons) - {"channel_silent"}
        if measured and case.n_utterances and last is None and not acted:
            return "agent_silent"
        return None

    def _open_timing(self, case: Case) -> list[str]:
        serious = ("slow_turn", "repeated_talk_over")
        if case.timing_reasons or all(case.timing[name] is not None for name in serious):
            return list(case.timing_reasons)
        return ["timing_missing" if case.timing_source is None else "timing_undetermined"]

    def _open(self, case: Case, found: Scenario | None) -> tuple[list[str], list[str]]:
        free, judged = [], []
        if self._unproven(case):
            free.append("exclusion_unknown")
        if case.tools is None:
            free.append("trace_missing")
        free += self._open_timing(case)
        if found is not None:
            asked = ["goal_achieved", "wrong_info"]
            asked += ["context_loss"] if found.correction else []
            asked += ["refused_service"] if found.identity == "legit" else []
            asked += ["disclosed_or_changed"] if found.identity == "impostor" else []
            answers = case.verdicts or {}
            judged += [f"verdict_missing:{q}" for q in asked if q not in answers]
            judged += [f"verdict_undetermined:{q}" for q in asked if answers.get(q, 0) is None]
        return free, judged
