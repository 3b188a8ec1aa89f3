"""Bundles that can be shared: when each side sounded and what came of it, and nothing else.

The recording is left out; what was measured of it stands in its place (``measured.json``), so that
the timing part of a record is derived from the shared bundles as it was from the whole ones. Names
that the population does not have, and ids, become keyed hashes; the key is made of the whole
bundles (`call_name_key`), so that a call has the name that stands for it in their record.
"""

from __future__ import annotations

import hmac
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.bundle import at_hand, find_bundles, read_bundle
from inquesto_core.bundle.call import (
    Agent,
    Answer,
    Call,
    Ended,
    Exclusion,
    MeasuredSegment,
    MeasuredTiming,
    RecordedVerdicts,
    ReportedTiming,
    ToolCall,
    ToolTrace,
)
from inquesto_core.bundle.write import UNFINISHED, bundle_files
from inquesto_core.canonical import canonical_bytes, digest_json
from inquesto_core.engine.attest import call_hash
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.executors import choose_executor
from inquesto_core.engine.extract import extract_all
from inquesto_core.engine.stored import INPUTS
from inquesto_core.errors import BundleError, Problem, StoreError
from inquesto_core.events.judged import judged_questions
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.places import allowed_schemes, refuse_inside
from inquesto_core.protocol import (
    load_population,
    load_protocol,
    measurement_digest,
    population_document,
)
from inquesto_core.score.accounting import UNREADABLE_BUNDLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inquesto_core.bundle import Bundle
    from inquesto_core.engine.extract import Extracted
    from inquesto_core.protocol import Population, Protocol

__all__ = ["Redacted", "redact"]

_DIRECTIONS = ("inbound", "outbound")
_HEX = frozenset("0123456789abcdef")
_FINGERPRINT = "sha256:"
_CHANNEL_SILENT = "channel_silent"
#: What stands for a reason that is left out.
_AUDIO_REDACTED = "audio_redacted"
_LEFT_OUT = "redacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """What was written.

    Parameters
    ----------
    folder : Path
    calls : int
        Bundles in it.
    problems : tuple of Problem
        What was passed over, and why.
    """

    folder: Path
    calls: int
    problems: tuple[Problem, ...] = ()


def _ignore(done: int, total: int) -> None:
    """Show no progress."""


def redact(
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    protocol: str | Path = "inquesto-0.1",
    population: str | Path | None = None,
    allow_remote: Sequence[str] = (),
    workers: int = 0,
    progress: Callable[[int, int], None] = _ignore,
) -> Redacted:
    """Write bundles without words, sound, names or ids into the new folder `out`.

    Parameters
    ----------
    sources : sequence of path
        Bundles, folders of bundles, archives or manifests.
    protocol : str or path
        By which recordings are measured; the bundles serve any that measures the same.
    population : str or path, optional
        The population whose names may stay; default: one beside the calls, or the protocol's.
    workers : int
        Processes that measure; 0 = this one.

    Raises
    ------
    StoreError
        ``out_not_empty``, ``redact_unwritable``.
    BundleError
        No source holds a bundle.
    InquestoError
        As `load_protocol`, `load_population` and `extract_all`.
    """
    law, folder, allowed = load_protocol(protocol), Path(out), allowed_schemes(allow_remote)
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch) / "sources", allowed=allowed)
        if not found.refs:
            raise BundleError(found.problems[0] if found.problems else "no call bundle was found")
        people = _populations(population, found.populations, law)
        _make_empty(folder)
        extracted = extract_all(
            found.refs,
            protocol=law,
            kept=EvidenceStore.open(Path(scratch) / "store").root,
            executor=choose_executor("local", workers=workers),
            progress=progress,
        )
        ours, problems = _one_a_call(extracted)
        key = call_name_key(_inputs(ours))
        staged = folder / f"{UNFINISHED}{os.getpid()}"
        try:
            for item in ours:
                redacting = _Redacting(law=law, people=people, key=key)
                _lay_down(staged, folder / call_hash(item.call_id, key), redacting.files(item))
        except OSError as exc:
            raise _unwritable(folder, exc) from exc
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return Redacted(folder=folder, calls=len(ours), problems=(*found.problems, *problems))


def _populations(
    given: str | Path | None, found: Sequence[Path], law: Protocol
) -> dict[str, Population]:
    if given is not None:
        held = [load_population(given, law)]
    else:
        shipped = [load_population(name, law) for name in law.population_files]
        held = [*shipped, *(load_population(path, law) for path in found)]
    return {each.name: each for each in held}


def _one_a_call(extracted: Sequence[Extracted]) -> tuple[list[Extracted], list[Problem]]:
    """Return the calls that can be shared, sorted by id, and why others cannot."""
    by_id: dict[str, list[Extracted]] = {}
    for item in extracted:
        by_id.setdefault(item.call_id, []).append(item)
    ours, problems = [], []
    for call_id, items in sorted(by_id.items()):
        reason = items[0].rows["calls"][0].get("exclusion_reason")
        if reason == UNREADABLE_BUNDLE:
            problems.append(_passed_over(call_id, "has no call.json that can be used"))
        elif len({item.digests for item in items}) > 1:
            problems.append(_passed_over(call_id, f"stands in {len(items)} different bundles"))
        else:
            ours.append(items[0])
    return ours, problems


def _passed_over(call_id: str, found: str) -> Problem:
    return Problem(
        code="redact_passed_over",
        call_id=call_id,
        found=found,
        expected="one readable bundle a call",
        remedy="it is not in the folder that was written",
    )


def _inputs(extracted: Sequence[Extracted]) -> pl.DataFrame:
    rows = [(item.call_id, name, sha) for item in extracted for name, sha in item.digests]
    return pl.DataFrame(rows, schema=INPUTS, orient="row")


def _make_empty(folder: Path) -> None:
    refuse_inside(folder)
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise StoreError(
                Problem(
                    code="out_not_empty",
                    found=f"{folder.name} holds other files",
                    expected="a new or empty folder",
                    remedy="name another folder with --out",
                )
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise _unwritable(folder, exc) from exc


def _unwritable(folder: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="redact_unwritable",
            found=f"{folder.name} cannot be written: {exc.strerror}",
            expected="a writable folder with room",
            remedy="name another folder with --out",
        )
    )


def _lay_down(staged: Path, target: Path, files: Mapping[str, bytes]) -> None:
    """Write a bundle that appears whole."""
    staged.mkdir(mode=0o700)
    for name, data in files.items():
        (staged / name).write_bytes(data)
    staged.rename(target)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Redacting:
    """What may stay of a call, and what stands for the rest."""

    law: Protocol
    people: Mapping[str, Population]
    key: bytes

    def files(self, item: Extracted) -> dict[str, bytes]:
        """Return the files of the bundle that can be shared."""
        with at_hand(item.ref):
            bundle = read_bundle(item.ref)
        rows = item.rows
        row = rows["calls"][0]
        people = self.people.get(bundle.call.population or self.law.default_population)
        is_reported = row["timing_source"] == "reported"
        return bundle_files(
            self._call(bundle.call, row, people),
            trace=None if bundle.trace is None else self._trace(bundle.trace, people),
            timing=_reported(bundle) if is_reported else None,
            measured=None if is_reported else self._measured(bundle, rows, row),
            verdicts=None if bundle.verdicts is None else self._verdicts(bundle.verdicts),
        )

    def _call(self, call: Call, row: Mapping[str, Any], people: Population | None) -> Call:
        rules = self.law.accounting
        closed = (*rules.agent_fault_reasons, *rules.lost_session_reasons)
        known = _names(people)
        reason = row["exclusion_reason"]
        excluded = reason if reason in rules.excluded_reasons else _LEFT_OUT
        fingerprint = self._fingerprint(call.agent)
        return Call(
            call_id=call_hash(call.call_id, self.key),
            agent=Agent(name=f"agent {fingerprint[-8:]}", fingerprint=fingerprint),
            audio=(),
            population=self._kept(call.population, self.people),
            scenario_id=self._kept(call.scenario_id, known["scenario"]),
            condition=self._kept(call.condition, known["condition"]),
            group=self._kept(call.group, known["group"]),
            trial=call.trial,
            direction=call.direction if call.direction in _DIRECTIONS else None,
            ended=Ended(
                by=call.ended.by, reason=call.ended.reason if call.ended.reason in closed else None
            ),
            exclusion=None if reason is None else Exclusion(reason=excluded),
        )

    def _kept(self, label: str | None, known: Sequence[str] | Mapping[str, Any]) -> str | None:
        return label if label is None or label in known else self._hash(label)

    def _hash(self, text: str) -> str:
        return f"h-{hmac.new(self.key, text.encode(), 'sha256').hexdigest()[:16]}"

    def _fingerprint(self, agent: Agent) -> str:
        """Return the fingerprint that names the agent in a record; free text becomes a hash."""
        given = agent.fingerprint
        if given is None:
            told = {"name": agent.name, "config": canonical_bytes(dict(agent.config)).decode()}
            return _FINGERPRINT + digest_json(told)[:16]
        digits = given.removeprefix(_FINGERPRINT)
        is_plain = given.startswith(_FINGERPRINT) and len(digits) in range(8, 65)
        if is_plain and set(digits) <= _HEX:
            return given
        return _FINGERPRINT + self._hash(given).removeprefix("h-")

    def _trace(self, trace: ToolTrace, people: Population | None) -> ToolTrace:
        """Return when which tool was called and whether it did; no argument, result or id."""
        known = frozenset(_texts(population_document(people))) if people is not None else ()
        return ToolTrace(
            calls=tuple(
                ToolCall(
                    position=each.position,
                    name=each.name if each.name in known else self._hash(each.name),
                    arguments=None if each.arguments is None else {},
                    status=each.status,
                    start_ms=each.start_ms,
                    end_ms=each.end_ms,
                )
                for each in trace.calls
            )
        )

    def _measured(
        self, bundle: Bundle, rows: Mapping[str, Any], row: Mapping[str, Any]
    ) -> MeasuredTiming:
        if bundle.measured is not None and not bundle.call.audio:
            return bundle.measured
        is_timed = row["timing_source"] == "measured"
        reasons = set(row["timing_reasons"])
        if _CHANNEL_SILENT in reasons and not (bundle.trace and bundle.trace.calls):
            reasons.add(_AUDIO_REDACTED)  # the words that showed an agent are not there any more
        return MeasuredTiming(
            measurement=measurement_digest(self.law),
            engine=__version__,
            duration_ms=row["duration_ms"] if is_timed else None,
            window_ms=(row["window_from_ms"], row["window_to_ms"]) if is_timed else None,
            condition_class=row["condition_class"],
            timing_reasons=tuple(sorted(reasons)),
            segments=tuple(
                MeasuredSegment(
                    speaker=each["channel"],
                    start_ms=each["start_ms"],
                    end_ms=each["end_ms"],
                    rejected=each["rejected"],
                )
                for each in rows.get("segments", ())
            ),
        )

    def _verdicts(self, verdicts: RecordedVerdicts) -> RecordedVerdicts:
        """Return the answers without reasons, to questions of the protocol."""
        asked = judged_questions(self.law, at_least=1)
        return RecordedVerdicts(
            model=_LEFT_OUT,
            model_sha256=verdicts.model_sha256,
            rubric_sha256=verdicts.rubric_sha256,
            answers=tuple(
                Answer(question=each.question, verdict=each.verdict)
                for each in verdicts.answers
                if each.question in asked
            ),
        )


def _reported(bundle: Bundle) -> ReportedTiming | None:
    return None if bundle.timing is None else replace(bundle.timing, source=_LEFT_OUT)


def _names(people: Population | None) -> dict[str, tuple[str, ...]]:
    if people is None:
        return {"scenario": (), "condition": (), "group": ()}
    return {
        "scenario": tuple(each.id for each in people.scenarios),
        "condition": people.conditions,
        "group": people.groups,
    }


def _texts(value: Any) -> Iterator[str]:
    """Yield every text of a population, which may name a tool in its tools and its predicates."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
