"""Everything that stands around a run's score, in one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from inquesto_core.score.completion import CostOfPass
    from inquesto_core.score.delivery import Delivery
    from inquesto_core.score.escalation import Escalation, Verification
    from inquesto_core.score.speech_fidelity import SpeechFidelity

__all__ = ["CallOutcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcomes:
    """Everything that `outcomes` shows of a run.

    Parameters
    ----------
    boundaries : polars.DataFrame
        `first_boundaries`.
    escalation : Escalation or None
        None = the population names no transfer tool.
    verification : Verification or None
        None = it names no verifying tool.
    delivery : Delivery or None
        None = the run is kept in several parts, which keep no barge-ins.
    fidelity : SpeechFidelity
        Of no call where the run holds no words of our own transcriber.
    costs : tuple of CostOfPass
        Empty = no cost is told.
    by_latency : list of (band, passed, calls)
    """

    boundaries: pl.DataFrame
    escalation: Escalation | None
    verification: Verification | None
    delivery: Delivery | None
    fidelity: SpeechFidelity
    costs: tuple[CostOfPass, ...]
    by_latency: list[tuple[str, int, int]]
