"""Whether a call did what its scenario's predicates say: conditions as data (docs/predicates.md).

=====================  ==========================================================================
`tools`                which tools were performed, how often, in which order
`documents`            arguments and results by JSON Schema
`repeats`              nothing is done twice
`time_limits`          the time between tools and speech
`states`               values, hash and changes of the state after the call
`claims`               sentences that a judge or recorded verdicts answer
`facts_said`           amounts, numbers and phrases that a side says
`consents`             the caller's yes before an action
`evaluate`             all, any, not, named; what each kind reads
=====================  ==========================================================================

Every predicate is true, false or undetermined, with its evidence. Each distinct document, state and
text is read once, however many calls have it.
"""

from __future__ import annotations

from inquesto_core.events.predicates.check import check_predicates
from inquesto_core.events.predicates.evaluate import (
    GROUPS,
    KINDS,
    asked_claims,
    columns_read,
    with_inner,
)
from inquesto_core.events.predicates.scenarios import (
    PREDICATES,
    predicates_hold,
    scenario_predicates,
)

__all__ = [
    "GROUPS",
    "KINDS",
    "PREDICATES",
    "asked_claims",
    "check_predicates",
    "columns_read",
    "predicates_hold",
    "scenario_predicates",
    "with_inner",
]
