"""What a population asks of its calls is refused at the first thing that cannot be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.errors import Problem, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inquesto_core.protocol import Population, Scenario

__all__ = ["contradiction", "refuse_contradictions"]


def refuse_contradictions(
    population: Population,
    contradictions: Callable[[Scenario], Iterable[tuple[str, str, str]]],
    *,
    code: str,
    page: str,
) -> None:
    """Raise at the first contradiction of a scenario: its pointer, what was found, and expected.

    Raises
    ------
    ProtocolError
        `code`.
    """
    for at, scenario in enumerate(population.scenarios):
        for key, found, expected in contradictions(scenario):
            pointer = f"/scenarios/{at}{key}"
            raise contradiction(
                population, pointer, found, expected, code=code, remedy=f"see {page}"
            )


def contradiction(
    population: Population,
    pointer: str,
    found: str,
    expected: str,
    *,
    code: str,
    remedy: str = "",
) -> ProtocolError:
    """Return the error that what a population says there cannot be asked."""
    return ProtocolError(
        Problem(
            code=code,
            file=population.file or f"population {population.name}",
            pointer=pointer,
            found=found,
            expected=expected,
            remedy=remedy,
        )
    )
