"""Check bundles without scoring them: every problem of every file, in a stated order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import at_hand, find_bundles, read_bundle, trace_times_outside
from inquesto_core.engine.exclusion import with_exclusion_checked
from inquesto_core.errors import BundleError, SchemaError
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.recording_faults import stated_faults
from inquesto_core.places import allowed_schemes
from inquesto_core.protocol import load_protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.bundle import BundleRef
    from inquesto_core.errors import Problem
    from inquesto_core.protocol import Protocol

__all__ = ["validate"]


def _bundle_problems(ref: BundleRef, protocol: Protocol) -> list[Problem]:
    try:
        with at_hand(ref):
            return _problems_here(ref, protocol)
    except BundleError as exc:  # it could not be fetched
        return [exc.problem.at(call_id=ref.label)]


def _problems_here(ref: BundleRef, protocol: Protocol) -> list[Problem]:
    try:
        bundle = with_exclusion_checked(read_bundle(ref), protocol)
    except (BundleError, SchemaError) as exc:
        return [exc.problem.at(call_id=ref.label)]
    recording = decode_call(bundle, limits=media_limits(protocol))
    problems = [*bundle.problems, *recording.problems]
    if recording.caller is not None and bundle.trace is not None:
        problems += trace_times_outside(bundle.trace, recording.duration_ms)
    stated = stated_faults(bundle, recording, protocol)
    problems += [fault.problem for fault in stated]
    return [problem.at(call_id=bundle.call.call_id) for problem in problems]


def validate(
    sources: Sequence[str | Path],
    *,
    protocol: str | Path = "inquesto-0.1",
    allow_remote: Sequence[str] = (),
) -> tuple[int, tuple[Problem, ...]]:
    """Return how many bundles were looked at, and every problem found in them.

    Parameters
    ----------
    sources : sequence of path
        Bundles, folders of bundles, archives or manifests.
    allow_remote : sequence of str
        Schemes of sources that are not on this machine.
    """
    law, allowed = load_protocol(protocol), allowed_schemes(allow_remote)
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch), allowed=allowed)
        problems = [problem for ref in found.refs for problem in _bundle_problems(ref, law)]
    return len(found.refs), (*found.problems, *problems)
