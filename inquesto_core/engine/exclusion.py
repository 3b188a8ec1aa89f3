"""What is said of a bundle that asks to be out of n with a reason that the protocol does not have.

The state of such a call is decided in `inquesto_core.score.accounting`; here it is named to whoever
made the bundle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inquesto_core.errors import Problem

if TYPE_CHECKING:
    from inquesto_core.bundle import Bundle
    from inquesto_core.protocol import Protocol

__all__ = ["with_exclusion_checked"]

#: Longer reasons are cut in the message.
_SHOWN_CHARACTERS = 60


def with_exclusion_checked(bundle: Bundle, protocol: Protocol) -> Bundle:
    """Return the bundle, with problem ``exclusion_unknown`` if its reason is no excluded one."""
    asked = bundle.call.exclusion
    if asked is None or asked.reason in protocol.accounting.excluded_reasons:
        return bundle
    problem = Problem(
        code="exclusion_unknown",
        call_id=bundle.call.call_id,
        file="call.json",
        pointer="/exclusion/reason",
        found=f"is {asked.reason[:_SHOWN_CHARACTERS]!r}",
        expected="one of " + ", ".join(protocol.accounting.excluded_reasons),
        remedy="until then the call is not evaluated; own words belong in detail",
    )
    return replace(bundle, problems=(*bundle.problems, problem))
