"""Write docs/conformance.md: what the reference implementation does otherwise, and how often.

``python docs/conformance.py`` writes the page and ``conformance_calls.csv`` beside it, the list of
every call of the oracle's runs whose result differs, with the rows that explain it. ``--check``
fails where either is stale, and where a call differs that no row explains. Without the oracle
(``../shared/oracle/fuzz``) there is nothing to count, and ``--check`` passes with a line that says
so.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import itertools
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Agent, Bundle, Call, ToolTrace, Transcript
from inquesto_core.canonical import strict_json
from inquesto_core.engine.reduction import EXTRACTED, tables_of
from inquesto_core.events import detect
from inquesto_core.evidence.rows import count_words
from inquesto_core.importers import ImportOptions
from inquesto_core.importers.fields import Node
from inquesto_core.importers.inquesto_score import IMPORTER
from inquesto_core.instruments.extract import measure_call
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import decision_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inquesto_core.importers.draft import Draft
    from inquesto_core.protocol import Population, Protocol

HERE = Path(__file__).resolve().parent
PAGE, LIST = HERE / "conformance.md", HERE / "conformance_calls.csv"
FUZZ = HERE.parents[1] / "shared" / "oracle" / "fuzz"

#: Row: what the reference does, what we do by default, and whether it can change a call.
ROWS: dict[str, tuple[str, str, str]] = {
    "1": (
        "latency = its own list; the clock starts when its VAD stops",
        "of its run folders the list is read, and marked; the longest gap between turns stands "
        "beside it (`longest_unanswered_ms`); own audio is measured",
        "no",
    ),
    "2": (
        "no reply = the marker text alone: no turns, or the last caller turn unanswered, pass",
        "no agent turn, or a caller turn with no agent turn after it, is `slow_turn`",
        "yes",
    ),
    "3": (
        "an overlap counts only with the runtime's `barge_in` flag",
        "times alone; a flag that they deny is a warning (`barge_in_disagrees`)",
        "yes",
    ),
    "4": (
        "the worst latency is placed at the turn of its number, however many there are",
        "every slow one is kept, with a place only where each agent turn has one; else they count "
        "without, with a warning (`latencies_incomplete`)",
        "no",
    ),
    "5": (
        '`verbose`: "(silence)" is a turn of one word',
        "a silent turn is left out of the mean",
        "yes",
    ),
    "5a": (
        "`verbose`: each row of the agent is a turn",
        "adjacent rows of the agent are one turn",
        "yes",
    ),
    "5b": (
        "`verbose`: what stands between white space is a word",
        "a word holds a letter or digit; a turn without one is left out",
        "yes",
    ),
    "6": (
        "look-up and verification are `lookup_account` and `verify_voice`, whatever the population",
        "the population names its tools",
        "other populations",
    ),
    "7": (
        "tool calls are names: what a tool answered is not known",
        "order alone decides; a stored status or result is read where there is one",
        "no",
    ),
    "8": ("only the first change is looked at", "every change; the first is the hardest", "no"),
    "9": (
        "the goal asks for the billing family's action, whatever the population requires",
        "the population's required action and changes, everywhere",
        "other populations",
    ),
    "10": (
        "an impostor's goal: refused, and no change",
        "and nothing disclosed; the pass is the same, for disclosure is S5",
        "goal only",
    ),
    "11": (
        "without a verdict the runtime's own `task_completed` is the goal; any other is no event",
        "an asked question without an answer: not evaluated (`verdict_missing`)",
        "yes",
    ),
    "12": (
        'any verdict counts that Python calls true: "n/a", 1, {"value": false}',
        "true, false, yes and no; all else is undetermined (`verdict_undetermined`)",
        "yes",
    ),
    "13": (
        "a judge's reply that cannot be parsed is the agent's failure",
        "undetermined, counted, not evaluated",
        "yes",
    ),
    "14": (
        "the record names its judge, whoever answered",
        "`[judge: recorded labels]`: no stored verdict proves a pinned judge",
        "the line",
    ),
    "15": ("the judge's prompt is billing's", "the rubric is pinned data", "no"),
    "16": ("false_reject does not ask whether the caller was verified", "the same", "no"),
    "17": ("hand-off = difficulty above 0.78", "named by the population, the same three", "no"),
    "18": ("nine goal scenarios require no action", "the same; the record counts them", "no"),
    "19": ("one event a type and call", "the same in the tallies; every occurrence is kept", "no"),
    "20": ('an error of the agent\'s model is "(silence)", a `slow_turn`', "the same", "no"),
    "21": (
        "any subset, and calls of conditions or groups that nobody asked for, carry the plain line",
        "`[incomplete …]` or `[partial]`; a call of an unknown condition or group is out of n",
        "yes",
    ),
    "22": (
        "a call without conversation, or of an unknown scenario: the stored result is trusted",
        "not evaluated, or for timing only (`unknown_scenario`): in no n",
        "yes",
    ),
    "23": ("call files are rewritten", "nothing that is read is written", "no"),
    "24": (
        "a folder is resumed whoever the agent is",
        "each bundle names the agent of the folder's agent.json",
        "no",
    ),
    "25": (
        "the default population is known by its name",
        "by its digest; another one is refused without `--population`",
        "the line",
    ),
    "26": (
        "runs without audio carry the plain line",
        "`[timing reported]`; without any timing a call is not evaluated",
        "the line",
    ),
    "27": ("bounds are rounded twice", "the same in the fields that both have", "no"),
    "28": (
        "gaps, means and the worst group from one-decimal scores",
        "the same in those fields; exact values beside them",
        "no",
    ),
    "29": ("speaker groups hold identity calls", "the same; a table without them beside it", "no"),
    "30": ("gap = all clean calls - all degraded ones", "the same", "no"),
    "31": ("a silent turn counts as failed on audio only", "the same; counted apart", "no"),
    "32": ("the plan is said to be 360 calls", "306", "no"),
    "33": (
        "evaluated_at is the local day; failures_by_type depends on file order",
        "a given day, else null; sorted by count, then name",
        "no",
    ),
}

_MARKER = "(silence)"
_TALK_OVER_MS = 500
Difference = tuple[str, str, tuple[str, ...], str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call is: its state, and where it is scored goal, pass and events."""

    state: str
    goal: bool | None
    passed: bool | None
    events: frozenset[str]

    def text(self) -> str:
        """Return it as one cell of the list."""
        if self.state != "scored":
            return self.state
        goal = "goal" if self.goal else "no goal"
        return " ".join(["pass" if self.passed else "fail", goal, *sorted(self.events)])


def oracle_calls(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of an oracle run."""
    lines = gzip.decompress((folder / "calls.jsonl.gz").read_bytes()).splitlines()
    return [strict_json(line) for line in lines]


def reference_outcome(call: Mapping[str, Any]) -> Outcome:
    """Return what the reference made of a call."""
    told = call["expected"]
    return Outcome(
        state="scored",
        goal=told["goal_achieved"],
        passed=told["pass"],
        events=frozenset(event["type"] for event in told["events"]),
    )


def our_outcomes(
    folder: Path,
    calls: Sequence[Mapping[str, Any]],
    *,
    protocol: Protocol,
    population: Population,
) -> dict[str, tuple[Outcome, tuple[str, ...]]]:
    """Return what each call is by default, and its reasons, by key."""
    rows = (_rows(folder, call, protocol) for call in calls)
    tables = tables_of({name: each.get(name, []) for name in EXTRACTED} for each in rows)
    detection = detect(tables, protocol=protocol, population=population)
    table = decision_table(detection, protocol=protocol, population=population, judge_free=False)
    names = [event.name for event in protocol.events]
    return {
        row["call_id"]: (
            Outcome(
                state=row["state"],
                goal=row["goal"],
                passed=row["passed"],
                events=frozenset(name for name in names if row[f"event_{name}"]),
            ),
            tuple(row["reasons"]),
        )
        for row in table.iter_rows(named=True)
    }


def _rows(folder: Path, call: Mapping[str, Any], protocol: Protocol) -> dict[str, Any]:
    export = folder / "calls" / f"{call['key']}.json"
    draft = IMPORTER.draft(Node(call["file"], export.name), export, ImportOptions())
    return measure_call(_bundle(draft, folder), protocol=protocol, vad=None)  # type: ignore[arg-type]


def _bundle(draft: Draft, folder: Path) -> Bundle:
    """Return a draft as the bundle that the importer would write and `score` would read."""
    call = Call(
        call_id=draft.call_id,
        agent=Agent(
            name=draft.agent_name or "",
            fingerprint=draft.agent_fingerprint,
            config=draft.agent_config,
        ),
        audio=(),
        platform=draft.platform,
        timing_reasons=draft.timing_reasons,
        **draft.scenario,
    )
    return Bundle(
        call=call,
        root=folder,
        trace=None if draft.tools is None else ToolTrace(calls=draft.tools),
        transcript=None
        if draft.turns is None
        else Transcript(source=draft.platform, turns=draft.turns),
        timing=draft.timing,
        verdicts=draft.verdicts,
        problems=draft.problems,
    )


def rows_that_explain(
    call: Mapping[str, Any], theirs: Outcome, ours: Outcome, reasons: Sequence[str]
) -> tuple[str, ...]:
    """Return the rows that a call's difference follows from; none where nothing does.

    A row is named only where the call's own file has what the row is about.
    """
    file = call["file"]
    conversation = file.get("conversation") or {}
    verdicts = (conversation.get("metadata") or {}).get("verdicts") or {}
    if ours.state != "scored":
        found = {_row_of(reason, verdicts) for reason in reasons if _holds(reason, call)}
        return _sorted(found) if reasons and None not in found else ()
    turns = conversation["turns"]
    changed = theirs.events ^ ours.events
    rows: set[str] = set()
    unexplained = set(changed)
    if "slow_turn" in changed and _is_unanswered(turns):
        rows.add("2")
        unexplained.discard("slow_turn")
    talk = {"talk_over", "repeated_talk_over"}
    if changed & talk and _has_unflagged_overlap(turns):
        rows.add("3")
        unexplained -= talk
    if "verbose" in changed and (why := _why_verbose(turns)):
        rows |= why
        unexplained.discard("verbose")
    if theirs.goal != ours.goal:
        if not (call["expected"]["identity"] == "impostor" and verdicts["disclosed_or_changed"]):
            return ()
        rows.add("10")
    return () if unexplained else _sorted(rows)


def _sorted(rows: set[Any]) -> tuple[str, ...]:
    return tuple(sorted(rows, key=list(ROWS).index))


def _row_of(reason: str, verdicts: Mapping[str, Any]) -> str | None:
    code = reason.partition(":")[0]
    if code == "verdict_undetermined":
        return "13" if verdicts.get("parse_error") else "12"
    return {
        "verdict_missing": "11",
        "no_audio": "22",
        "trace_missing": "22",
        "unknown_scenario": "22",
        "unknown_condition": "21",
        "unknown_group": "21",
        "duplicate_slot": "21",
    }.get(code)


def _holds(reason: str, call: Mapping[str, Any]) -> bool:
    """Return whether a reason counts: without a conversation all others follow from that."""
    if call["file"].get("conversation"):
        return True
    return not reason.startswith("verdict_missing")


def _is_unanswered(turns: Sequence[Mapping[str, Any]]) -> bool:
    return all(turn["speaker"] == "user" for turn in turns) or turns[-1]["speaker"] == "user"


def _has_unflagged_overlap(turns: Sequence[Mapping[str, Any]]) -> bool:
    caller_end = None
    for turn in turns:
        if turn["speaker"] == "user":
            caller_end = turn["end_ms"]
            continue
        is_long = caller_end is not None and caller_end - turn["start_ms"] >= _TALK_OVER_MS
        if is_long and not turn["barge_in"]:
            return True
    return False


def _why_verbose(turns: Sequence[Mapping[str, Any]]) -> set[str]:
    said = [turn for turn in turns if turn["speaker"] == "agent"]
    follows = itertools.pairwise(turns)
    found = {
        "5": any(turn["text"].strip() == _MARKER for turn in said),
        "5a": any(one["speaker"] == other["speaker"] == "agent" for one, other in follows),
        "5b": any(count_words(turn["text"]) != len(turn["text"].split()) for turn in said),
    }
    return {row for row, is_so in found.items() if is_so}


def differences(folder: Path, protocol: Protocol, population: Population) -> Iterator[Difference]:
    """Yield seed, key, rows, and both outcomes, of every call of a run that differs."""
    calls = oracle_calls(folder)
    ours = our_outcomes(folder, calls, protocol=protocol, population=population)
    for call in calls:
        theirs = reference_outcome(call)
        mine, reasons = ours[call["key"]]
        if theirs != mine:
            rows = rows_that_explain(call, theirs, mine, reasons)
            shown = f"{mine.text()}: {', '.join(reasons)}" if reasons else mine.text()
            yield folder.name, call["key"], rows, theirs.text(), shown


def all_differences(oracle: Path) -> tuple[list[Difference], dict[str, int]]:
    """Return every difference of all runs, and how many calls each run has."""
    law = load_protocol("inquesto-0.1")
    people = load_population(law.default_population, law)
    found: list[Difference] = []
    counts = {}
    for folder in sorted(oracle.iterdir(), key=lambda each: int(each.name)):
        counts[folder.name] = len(oracle_calls(folder))
        found += differences(folder, law, people)
    return found, counts


def page(found: Sequence[Difference], counts: Mapping[str, int]) -> str:
    """Return docs/conformance.md."""
    by_row = Counter(row for _, _, rows, _, _ in found for row in rows)
    alone = Counter(rows[0] for _, _, rows, _, _ in found if len(rows) == 1)
    by_seed = Counter(seed for seed, *_ in found)
    same = [seed for seed in counts if not _moved(found, seed)]
    lines = [
        _HEAD.format(calls=sum(counts.values()), runs=len(counts), differ=len(found)),
        "| row | the reference | here, by default | changes a call | calls | by it alone |",
        "|---|---|---|---|---|---|",
    ]
    for row, (theirs, ours, changes) in ROWS.items():
        count = str(by_row[row]) if by_row[row] or changes == "yes" else ""
        only = str(alone[row]) if count else ""
        lines.append(f"| {row} | {theirs} | {ours} | {changes} | {count} | {only} |")
    cells = [f"{seed}: {by_seed[seed]} of {count}" for seed, count in counts.items()]
    lines += [
        "",
        "## Run by run",
        "",
        f"In the runs {', '.join(same)} every goal and pass is the reference's. Calls that differ "
        "in anything, by seed:",
        "",
        *_wrapped(cells),
        "",
        *_events_alone(found, same),
        "[conformance_calls.csv](conformance_calls.csv) names each of them, its rows, and both "
        "results.",
        "",
    ]
    return "\n".join(lines)


def _events_alone(found: Sequence[Difference], same: Sequence[str]) -> list[str]:
    """Return what differs in the runs whose goals and passes are all the reference's."""
    lines = []
    for seed in same:
        rows = Counter(" and ".join(rows) for at, _, rows, _, _ in found if at == seed)
        if rows:
            told = ", ".join(f"{count} by row {row}" for row, count in sorted(rows.items()))
            lines += [_ALONE.format(seed=seed, calls=sum(rows.values()), told=told), ""]
    return lines


def _moved(found: Sequence[Difference], seed: str) -> bool:
    """Return whether a run has a call of another goal or pass, or one that is not scored."""
    pairs = [(theirs, ours) for at, _, _, theirs, ours in found if at == seed]
    return any(_verdict(theirs) != _verdict(ours) for theirs, ours in pairs)


def _verdict(outcome: str) -> tuple[str, bool]:
    return outcome.partition(" ")[0], "no goal" in outcome


def _wrapped(cells: Sequence[str]) -> list[str]:
    return [" · ".join(cells[at : at + 7]) + "  " for at in range(0, len(cells), 7)]


def listing(found: Sequence[Difference]) -> str:
    """Return docs/conformance_calls.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("seed", "call", "rows", "reference", "here"))
    for seed, key, rows, theirs, ours in found:
        writer.writerow((seed, key, " ".join(rows), theirs, ours))
    return out.getvalue()


_ALONE = """Run {seed} differs in {calls} calls by their events alone: {told}. No goal and no pass
moves: its score is the reference's, its tallies of events are larger. The rows ask for just these
events: without them a reply that never came, or an overlap that nobody marked, would be none."""

_HEAD = """# Conformance with the public reference implementation

<!-- Written by docs/conformance.py; edit that. -->

The reference is massabaali7/inquesto-score at 1f6dae522b78, whose 13 records match the paper's
Tables 2 and 3. Its run folders can be scored in two ways.

```bash
# exactly as it scores them: its record, its citation line, its fields, nothing else
inquesto-core score RUN_FOLDER --compat reference --out RUN
# by protocol 0.1
inquesto-core import inquesto-score RUN_FOLDER --out BUNDLES
inquesto-core score BUNDLES --judge recorded --out RUN
```

`--compat reference` takes run folders (`agent.json`, `calls/*.json`) or folders of them, reads what
Python reads, counts as true what Python calls true, and writes `RUN/record.json` (several runs:
`RUN/records/`) with every field of the reference's record, to which `provenance` and `signature`
are added. `evaluated_at` is what `--evaluated-at` says. `config` stands there as agent.json has
it, prompts included: our own records never hold them. The run folders are not changed. A run that
was written this way has no evidence and is not for `rescore`.

Such a folder holds no audio, so its timing is *reported*: evidence (`timing_source`, table
`reported_turns`) and citation (`[timing reported]`) say so, and there is no timing uncertainty. Its
latencies stand in `diagnostics.latency_ms`; `diagnostics.latency_reported_n` says how many of those
were told and not measured. `count_silence` of `inquesto-0.2-draft`, which makes a long unanswered
wait or dead air a `slow_turn`, is not applied to it: on the runtime's turn clock a gap is the sum
of what it played and computed, not of what a caller heard (row 1), and silence inside a turn is not
reported at all. The longest gap stands beside (`longest_unanswered_ms`).

By default we are stricter. Of {calls} calls of {runs} random runs that the reference scored, made
to hit edges that genuine runs do not, {differ} have another goal, pass, event or state here, each
for a row of this table; *by it alone* counts those with no second row. Under `--compat reference`
none differs, and every field of the {runs} records is the same.
"""


def main() -> int:
    """Write both files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--oracle", type=Path, default=FUZZ)
    options = parser.parse_args()
    if not options.oracle.is_dir():
        print("docs/conformance.py: the oracle's runs are not here; nothing was counted")
        return 0 if options.check else 1
    found, counts = all_differences(options.oracle)
    unexplained = [(seed, key) for seed, key, rows, _, _ in found if not rows]
    for seed, key in unexplained:
        print(f"unexplained: seed {seed}, call {key}")
    texts = {PAGE: page(found, counts), LIST: listing(found)}
    for file, text in texts.items():
        if not options.check:
            file.write_text(text, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            print(f"{file.name} is stale: run python docs/conformance.py")
            return 1
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
