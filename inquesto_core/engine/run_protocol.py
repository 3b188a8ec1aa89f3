"""Which protocol and population a stored run is read with: those that it was scored with, or none.

A run remembers its protocol by name and digest, and no path: folders move, and a path would tell
whose machine it was. A shipped protocol is found by its name; any other has to be shown again, and
the digest says whether it is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol import load_population, load_protocol, protocol_names

if TYPE_CHECKING:
    from pathlib import Path

    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["population_of_run", "protocol_of_run"]

#: Hex digits that tell two digests apart to a reader.
_SHOWN_DIGITS = 16


def protocol_of_run(stored: StoredRun, given: str | Path | None = None) -> Protocol:
    """Return the protocol that the run was scored with.

    Parameters
    ----------
    given : str or path, optional
        Name or folder of the protocol; the shipped one of the run's name by default.

    Raises
    ------
    ProtocolError
        ``run_protocol_unknown``: it is not shipped, and none was given. ``run_protocol_differs``:
        the one that was found or given is not the one that the run was scored with. Otherwise as
        `load_protocol`.
    """
    name, digest = stored.manifest["protocol"]["name"], stored.manifest["protocol"]["digest"]
    wanted = digest.removeprefix("sha256:")
    if given is None and name not in protocol_names():
        raise ProtocolError(
            Problem(
                code="run_protocol_unknown",
                found=f"the run was scored with the protocol {name!r}, which is not shipped",
                expected=f"its folder, of SHA-256 {wanted[:_SHOWN_DIGITS]}…",
                remedy="name the folder with --protocol",
            )
        )
    protocol = load_protocol(name if given is None else given)
    if protocol.digest != wanted:
        raise ProtocolError(
            Problem(
                code="run_protocol_differs",
                found=f"the protocol {protocol.name!r} here has the SHA-256 "
                f"{protocol.digest[:_SHOWN_DIGITS]}…",
                expected=f"{name!r} of SHA-256 {wanted[:_SHOWN_DIGITS]}…, which scored the run",
                remedy="name that folder with --protocol, or score the bundles again",
            )
        )
    return protocol


def population_of_run(
    stored: StoredRun, given: str | Path | None = None, *, protocol: Protocol
) -> Population:
    """Return the population that the run was scored with: its own copy, or the one given.

    Raises
    ------
    ProtocolError
        ``run_population_unknown``: the run holds no copy, and none was given.
        ``run_population_differs``: the one given is another. Otherwise as `load_population`.
    """
    scored_with = stored.manifest.get("population") or {}
    name, wanted = str(scored_with.get("name")), str(scored_with.get("digest"))
    wanted = wanted.removeprefix("sha256:")
    if given is None and stored.population is not None:
        return stored.population
    if given is None and name not in protocol.population_files:
        raise ProtocolError(
            Problem(
                code="run_population_unknown",
                found=f"the run holds no copy of its population {name!r}",
                expected=f"its file, of SHA-256 {wanted[:_SHOWN_DIGITS]}…",
                remedy="name the file with --population, or score the bundles again",
            )
        )
    population = load_population(name if given is None else given, protocol)
    if population.digest != wanted:
        raise ProtocolError(
            Problem(
                code="run_population_differs",
                found=f"the population {population.name!r} here has the SHA-256 "
                f"{population.digest[:_SHOWN_DIGITS]}…",
                expected=f"{name!r} of SHA-256 {wanted[:_SHOWN_DIGITS]}…, which scored the run",
                remedy="name that file with --population, or score the bundles again",
            )
        )
    return population
