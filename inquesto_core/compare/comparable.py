"""What two runs must have in common before they are set side by side.

A difference of two scores is a difference of agents only where everything else is the same: the
rules, the calls that were asked for, and who judged them. Where it is not, there is no comparison;
what differs is said, and what would make it the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from inquesto_core.errors import IncomparableError, Problem

__all__ = ["Standing", "differing_circumstances", "refuse_incomparable"]

_SHOWN = 8
_REMEDY = {
    "protocol": "`rescore` one of them under the other's protocol",
    "population": "score both against the same population file",
    "judge": "score both with the same --judge",
    "rubric": "score both under one protocol, with the same --judge",
    "timing": "score recordings in both, or reported timing in both",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a run's results rest on.

    Parameters
    ----------
    protocol, population : tuple of str
        Name and SHA-256; of the protocol also whose rules stand in for its own, if any do.
    judge : tuple of str or None
        Kind, model and SHA-256.
    rubric : str
        Digest of what the judge is asked with.
    timing : {"measured", "reported"}
    transcriber : tuple of str or None
    engine : str
        Version.
    """

    protocol: tuple[str, ...]
    population: tuple[str, str]
    judge: tuple[str | None, ...]
    rubric: str
    timing: str
    transcriber: tuple[str | None, ...]
    engine: str


def refuse_incomparable(a: Standing, b: Standing) -> None:
    """Refuse two runs whose results rest on different things.

    Raises
    ------
    IncomparableError
        ``runs_not_comparable``, with all that differs.
    """
    differs = [
        (name, shown)
        for name, shown in (
            ("protocol", _named(a.protocol, b.protocol)),
            ("population", _named(a.population, b.population)),
            ("judge", _named(a.judge, b.judge)),
            ("rubric", _named((a.rubric,), (b.rubric,)) if a.judge[0] != "none" else None),
            ("timing", _named((a.timing,), (b.timing,))),
        )
        if shown is not None
    ]
    if not differs:
        return
    raise IncomparableError(
        Problem(
            code="runs_not_comparable",
            found="A and B differ in more than the agent: "
            + "; ".join(f"{name}: {one} and {two}" for name, (one, two) in differs),
            expected="one protocol, population and judge",
            remedy="; ".join(dict.fromkeys(_REMEDY[name] for name, _ in differs)),
        )
    )


def differing_circumstances(a: Standing, b: Standing) -> tuple[str, ...]:
    """Return what else differs and does not forbid a comparison, a sentence each."""
    notes = []
    heard = _named(a.transcriber, b.transcriber)
    if heard is not None:
        notes.append(f"the transcriber differs: {heard[0]} and {heard[1]}")
    if a.engine != b.engine:
        notes.append(f"scored by different versions: {a.engine} and {b.engine}")
    return tuple(notes)


def _named(one: tuple[str | None, ...], two: tuple[str | None, ...]) -> tuple[str, str] | None:
    """Return how both are called; None where they are the same."""
    if one == two:
        return None
    return _words(one), _words(two)


def _words(parts: tuple[str | None, ...]) -> str:
    shown = [part if len(part) < 64 else f"SHA-256 {part[:_SHOWN]}…" for part in parts if part]
    return " ".join(shown) or "none"
