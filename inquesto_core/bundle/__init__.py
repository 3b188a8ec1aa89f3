"""What was recorded: call bundles, where they lie and how they are read.

A bundle is a folder with `call.json`, its audio, and up to five more JSON parts. This room decides
which folders are bundles, what their files say, and what is wrong with them; what that does to the
call's score is decided above. It opens no audio beyond hashing it.
"""

from __future__ import annotations

from inquesto_core.bundle.call import (
    Agent,
    Answer,
    AudioFile,
    Bundle,
    Call,
    ChannelOffsets,
    Ended,
    Exclusion,
    FinalState,
    IgnoredIntervals,
    Inferred,
    RecordedVerdicts,
    ReportedStages,
    ReportedTiming,
    ReportedTurn,
    ToolCall,
    ToolTrace,
    Transcript,
    TranscriptTurn,
    Word,
)
from inquesto_core.bundle.find import BundleRef, Found, find_bundles
from inquesto_core.bundle.read import read_bundle
from inquesto_core.bundle.remote import at_hand
from inquesto_core.bundle.trace import trace_times_outside
from inquesto_core.bundle.write import bundle_files

__all__ = [
    "Agent",
    "Answer",
    "AudioFile",
    "Bundle",
    "BundleRef",
    "Call",
    "ChannelOffsets",
    "Ended",
    "Exclusion",
    "FinalState",
    "Found",
    "IgnoredIntervals",
    "Inferred",
    "RecordedVerdicts",
    "ReportedStages",
    "ReportedTiming",
    "ReportedTurn",
    "ToolCall",
    "ToolTrace",
    "Transcript",
    "TranscriptTurn",
    "Word",
    "at_hand",
    "bundle_files",
    "find_bundles",
    "read_bundle",
    "trace_times_outside",
]
