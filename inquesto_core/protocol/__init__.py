"""What one version of the protocol fixes, as data: definition, populations, releases, differences.

Other rooms read thresholds, pins, views and scenarios from here and hold none of their own.
"""

from __future__ import annotations

from inquesto_core.protocol.definition import (
    EventType,
    Protocol,
    RecordingFaultLimits,
    TimelineLimits,
    View,
)
from inquesto_core.protocol.difference import Change, diff_protocols
from inquesto_core.protocol.load import (
    DEFAULT_PROTOCOL,
    load_any_protocol,
    load_protocol,
    protocol_names,
)
from inquesto_core.protocol.measurement import (
    asking_of,
    hearing_of,
    measurement_digest,
    measurement_of,
)
from inquesto_core.protocol.outcome import (
    ASSERTIONS,
    SIGNALS,
    ChecksProtocol,
    OutcomeProtocol,
    SignalsProtocol,
)
from inquesto_core.protocol.population import (
    Population,
    Scenario,
    Slot,
    load_population,
    population_document,
)
from inquesto_core.protocol.release import check_release, protocol_digest, released

__all__ = [
    "ASSERTIONS",
    "DEFAULT_PROTOCOL",
    "SIGNALS",
    "Change",
    "ChecksProtocol",
    "EventType",
    "OutcomeProtocol",
    "Population",
    "Protocol",
    "RecordingFaultLimits",
    "Scenario",
    "SignalsProtocol",
    "Slot",
    "TimelineLimits",
    "View",
    "asking_of",
    "check_release",
    "diff_protocols",
    "hearing_of",
    "load_any_protocol",
    "load_population",
    "load_protocol",
    "measurement_digest",
    "measurement_of",
    "population_document",
    "protocol_digest",
    "protocol_names",
    "released",
]
