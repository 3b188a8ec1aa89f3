"""Which agents a comparison is of, and on what ground each of them was scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.compare.comparable import Standing, differing_circumstances
from inquesto_core.errors import IncomparableError, Problem
from inquesto_core.score.signature import parse_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.engine.stored import StoredRun

__all__ = ["agent_meant", "ground_notes", "refuse_same", "standing_of"]


def agent_meant(stored: StoredRun, name: str | None) -> str:
    """Return the fingerprint of the agent that is meant.

    Raises
    ------
    IncomparableError
        ``agents_ambiguous``, ``agent_unknown``.
    """
    held = {key: str(record["agent"]) for key, record in stored.records.items()}
    listed = ", ".join(sorted(repr(each) for each in held.values()))
    if name is None:
        if len(held) == 1:
            return next(iter(held))
        raise IncomparableError(
            Problem(
                code="agents_ambiguous",
                found=f"{stored.folder.name} holds {len(held)} agents: {listed}",
                expected="which of them is A and which is B",
                remedy="name A and then B with --agents A B",
            )
        )
    found = [key for key, agent in held.items() if name in (agent, key)]
    found = found or [key for key in held if name and key.removeprefix("sha256:").startswith(name)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} agents" if found else "no agent"
    raise IncomparableError(
        Problem(
            code="agents_ambiguous" if found else "agent_unknown",
            found=f"{stored.folder.name} has {what} called {name!r}",
            expected=f"one of {listed}, or the beginning of a fingerprint",
            remedy="name the fingerprint with --agents" if found else "",
        )
    )


def refuse_same(first: StoredRun, second: StoredRun, chosen: tuple[str, str]) -> None:
    """Refuse an agent beside itself in one run (``same_run_twice``)."""
    if first.folder.resolve() == second.folder.resolve() and chosen[0] == chosen[1]:
        raise IncomparableError(
            Problem(
                code="same_run_twice",
                found="A and B are the same agent in the same run",
                expected="two runs, or two agents of one",
                remedy="name another run, or two agents with --agents A B",
            )
        )


def standing_of(stored: StoredRun, fingerprint: str) -> Standing:
    """Return the ground on which an agent of a run was scored."""
    manifest = stored.manifest
    evidence = manifest.get("evidence") or {}
    judge, heard = (evidence.get(name) or {} for name in ("judge", "transcriber"))
    people = manifest.get("population") or {}
    record = stored.records[fingerprint]
    signature = parse_signature(record["signature"]["text"])
    is_reported = signature.get("timing") == "reported" or "[timing reported]" in record["citation"]
    named = (manifest["protocol"]["name"], manifest["protocol"]["digest"])
    others = (f"as {signature['compat']} applies it",) if "compat" in signature else ()
    return Standing(
        protocol=(*named, *others),
        population=(str(people.get("name")), str(people.get("digest"))),
        judge=_named_use(judge),
        rubric=str(evidence.get("asked_with")),
        timing="reported" if is_reported else "measured",
        transcriber=_named_use(heard),
        engine=manifest["engine"]["version"],
    )


def _named_use(use: Mapping[str, str | None]) -> tuple[str | None, ...]:
    """Return how a judge or transcriber is told from others."""
    return (use.get("kind"), use.get("model") or use.get("label"), use.get("sha256"))


def ground_notes(standings: Sequence[Standing], chosen: tuple[str, str]) -> list[str]:
    """Return what differs and is no reason to refuse, and what limits the comparison."""
    notes = list(differing_circumstances(*standings))
    if chosen[0] == chosen[1]:
        notes.append("A and B have the same fingerprint: this is one agent against itself")
    if standings[0].judge[0] == "none":
        notes.append("judge-free: outcomes are what state, trace and audio show")
    return notes
