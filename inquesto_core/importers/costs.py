"""What a call cost, as tags: only in a unit that its platform documents.

A cost in credits, in a currency that nobody names, or of the recording alone is no cost of a call;
it is left out and said.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from inquesto_core.bundle import Inferred

if TYPE_CHECKING:
    from inquesto_core.importers.fields import Node

__all__ = ["cost_left_out", "cost_note", "cost_tags"]

_DECIMALS = Decimal(1).scaleb(-12)


def cost_tags(node: Node | None, *, per_unit: int = 1, currency: str = "USD") -> dict[str, str]:
    """Return the tags ``cost`` and ``cost_currency``; none where the export tells no cost.

    Parameters
    ----------
    node : Node or None
        A number from 0.
    per_unit : int
        How many of the field's units are one of `currency`: 100 for cents.

    Raises
    ------
    SchemaError
        Code ``export_field``.

    Examples
    --------
    >>> from inquesto_core.importers.fields import Node
    >>> cost_tags(Node(70.5, "x"), per_unit=100)
    {'cost': '0.705', 'cost_currency': 'USD'}
    """
    if node is None:
        return {}
    value = node.value
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 10**9:
        node.refuse(f"is {node.shown()}", "what the call cost, a number from 0")
    cost = (Decimal(repr(value)) / per_unit).quantize(_DECIMALS).normalize()
    return {"cost": f"{cost:f}", "cost_currency": currency}


def cost_note(node: Node | None, how: str) -> tuple[Inferred, ...]:
    """Return in which unit a cost was read, where there is one."""
    return () if node is None else (Inferred(field="/tags/cost_currency", value="USD", how=how),)


def cost_left_out(node: Node | None, why: str) -> tuple[Inferred, ...]:
    """Return why what looks like a cost is not the call's, where it stands in the export."""
    if node is None:
        return ()
    return (Inferred(field="/tags/cost", value=None, how=f"left out: {why}"),)
