"""Check bundles without scoring them: every problem of every file, in a stated order."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import at_hand, find_bundles, read_bundle, trace_times_outside
from inquesto_core.bundle.excluded import as_excluded
from inquesto_core.bundle.inferred import InferredTally
from inquesto_core.engine.exclusion import with_exclusion_checked
from inquesto_core.errors import BundleError, InquestoError, SchemaError
from inquesto_core.events import check_predicates
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.recording_faults import stated_faults
from inquesto_core.places import allowed_schemes
from inquesto_core.protocol import load_population, load_protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.bundle import BundleRef
    from inquesto_core.bundle.inferred import InferredKind
    from inquesto_core.errors import Problem
    from inquesto_core.protocol import Protocol

__all__ = ["Validated", "validate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """What is to be said of bundles.

    Parameters
    ----------
    bundles : int
        How many were looked at.
    problems : tuple of Problem
        Every one that was found, in the order of the bundles.
    inferred : tuple of InferredKind
        What the bundles say was inferred, and in how many.
    """

    bundles: int
    problems: tuple[Problem, ...]
    inferred: tuple[InferredKind, ...]


def _bundle_problems(ref: BundleRef, protocol: Protocol, tally: InferredTally) -> list[Problem]:
    try:
        with at_hand(ref):
            return _problems_here(ref, protocol, tally)
    except BundleError as exc:  # it could not be fetched
        return [exc.problem.at(call_id=ref.label)]


def _problems_here(ref: BundleRef, protocol: Protocol, tally: InferredTally) -> list[Problem]:
    try:
        bundle = with_exclusion_checked(read_bundle(ref), protocol)
    except (BundleError, SchemaError) as exc:
        return [exc.problem.at(call_id=ref.label)]
    tally.add(bundle.call.inferred)
    recording = decode_call(bundle, limits=media_limits(protocol))
    problems = [*bundle.problems, *recording.problems]
    if recording.caller is not None and bundle.trace is not None:
        problems += trace_times_outside(bundle.trace, recording.duration_ms)
    stated = stated_faults(bundle, recording, protocol)
    problems += [fault.problem for fault in stated]
    told = as_excluded(problems, bundle.call)
    return [problem.at(call_id=bundle.call.call_id) for problem in told]


def _population_problems(files: Sequence[Path]) -> list[Problem]:
    """Return what is wrong with the populations beside the bundles, whichever protocol asks."""
    problems = []
    for file in files:
        try:
            check_predicates(load_population(file))
        except InquestoError as exc:
            problems.append(exc.problem)
    return problems


def validate(
    sources: Sequence[str | Path],
    *,
    protocol: str | Path = "inquesto-0.1",
    allow_remote: Sequence[str] = (),
) -> Validated:
    """Return what is wrong with bundles, and what was inferred in them.

    Parameters
    ----------
    sources : sequence of path
        Bundles, folders of bundles, archives or manifests.
    allow_remote : sequence of str
        Schemes of sources that are not on this machine.
    """
    law, allowed = load_protocol(protocol), allowed_schemes(allow_remote)
    tally = InferredTally()
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch), allowed=allowed)
        problems = [
            *_population_problems(found.populations),
            *(problem for ref in found.refs for problem in _bundle_problems(ref, law, tally)),
        ]
    return Validated(
        bundles=len(found.refs),
        problems=(*found.problems, *problems),
        inferred=tally.kinds(),
    )
