"""Which population the calls of a run are of: the one given, one beside them, or the protocol's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol import OutcomeProtocol, load_population

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inquesto_core.protocol import Population, Protocol

__all__ = ["known_population", "population_of_calls"]


def known_population(
    given: str | Path | None, found: Sequence[Path], protocol: Protocol | OutcomeProtocol
) -> Population | None:
    """Return the population that is known before a call is read; None = the calls must say.

    Its errors are those of `population_of_calls`: told before anything is measured.
    """
    law = None if isinstance(protocol, OutcomeProtocol) else protocol
    if given is not None:
        return load_population(given, law)
    return load_population(found[0], law) if len(found) == 1 else None


def population_of_calls(
    given: str | Path | None,
    found: Sequence[Path],
    named: frozenset[str],
    protocol: Protocol | OutcomeProtocol,
) -> Population:
    """Return the calls' population: the one given, one beside them, or the protocol's.

    Parameters
    ----------
    given : str or path, optional
    found : sequence of path
        Population files beside the calls.
    named : frozenset of str
        What the calls name.

    Raises
    ------
    ProtocolError
        ``several_populations``, ``population_unknown``.
    """
    law = None if isinstance(protocol, OutcomeProtocol) else protocol
    if given is not None:
        return load_population(given, law)
    names = sorted(named)
    if len(names) > 1:
        raise ProtocolError(
            Problem(
                code="several_populations",
                found=f"the calls name the populations {', '.join(names)}",
                expected="one population a run",
                remedy="score them apart, or name one with --population",
            )
        )
    if law is None and not names and len(found) == 1:
        return load_population(found[0])
    name = names[0] if names else None if law is None else law.default_population
    for path in found:
        population = load_population(path, law)
        if population.name == name:
            return population
    if law is not None and name is not None and name in law.population_files:
        return load_population(name, law)
    known = [] if law is None else sorted(law.population_files)
    raise ProtocolError(
        Problem(
            code="population_unknown",
            found="the calls name no population"
            if name is None
            else f"the calls name the population {name}",
            expected=", or one of ".join(
                ["a population.json beside them", *([", ".join(known)] if known else [])]
            ),
            remedy="give its file with --population",
        )
    )
