"""Facts of an export that scenario rules may ask for; they are never written into a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inquesto_core.importers.fields import Node

__all__ = ["known_facts"]


def known_facts(
    said: Mapping[str, tuple[str | None, ...]], *tagged: Node | None
) -> dict[str, tuple[str, ...]]:
    """Return the facts that are known.

    Parameters
    ----------
    said : mapping of fact to values
        None = not known.
    tagged : Node or None
        Objects of the export whose texts and numbers become facts ``tag.<name>``; of two that
        hold one name the first counts.
    """
    facts = {name: kept for name, values in said.items() if (kept := tuple(v for v in values if v))}
    for node in tagged:
        for name, value in {} if node is None else node.members().items():
            is_text = isinstance(value, str | int) and not isinstance(value, bool)
            if is_text and str(value):
                facts.setdefault(f"tag.{name}", (str(value),))
    return facts
