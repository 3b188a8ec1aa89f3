"""Everything that is wrong with one recording, by call.json, its sound and the transcript."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inquesto_core.instruments.clock_checks import check_clock
from inquesto_core.instruments.recording_faults import stated_faults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.bundle import Bundle
    from inquesto_core.instruments.audio import Recording
    from inquesto_core.instruments.recording_faults import RecordingFault
    from inquesto_core.instruments.turn_anchors import Int, Side
    from inquesto_core.protocol import Protocol

__all__ = ["check_recording"]


def check_recording(
    bundle: Bundle,
    recording: Recording,
    speech: Mapping[Side, Int],
    *,
    protocol: Protocol,
) -> tuple[RecordingFault, ...]:
    """Return the faults of a call's recording, those without which timing holds last.

    Parameters
    ----------
    recording : Recording
        As `decode_call` gives it; without sides there is nothing to find.
    speech : mapping of side to int64 array of shape (n, 2), ms, sorted, disjoint
        Where each side was measured to speak, on the call's clock; rejected and ignored stretches
        left out.
    """
    if recording.caller is None or recording.agent is None:
        return ()
    clock = check_clock(
        bundle.transcript,
        speech,
        duration_ms=recording.duration_ms,
        sample_rates_hz={
            "caller": recording.caller.sample_rate_hz,
            "agent": recording.agent.sample_rate_hz,
        },
        limits=protocol.recording_faults,
    )
    stated = (
        _acquitted(fault) if fault.side in clock.steady else fault
        for fault in stated_faults(bundle, recording, protocol)
    )
    return tuple(sorted((*stated, *clock.faults), key=lambda fault: fault.level))


def _acquitted(fault: RecordingFault) -> RecordingFault:
    """Return a track's missing end as no more than said: all its turns stand where they should."""
    ends_early = fault.quantity == "end_difference_ms" and fault.value < 0
    return replace(fault, level="warning") if ends_early else fault
