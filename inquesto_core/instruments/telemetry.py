"""Runtimes are told to tell their makers nothing, before they are loaded.

From 1.32 on, onnxruntime keeps a number for the machine in the user's cache folder and reports each
session to its makers, from its own threads. It reads the variable when it is loaded, and its own
`disable_telemetry_events` comes too late for the first of these.
"""

from __future__ import annotations

import os

__all__ = ["forbid_telemetry"]

_SWITCHES = ("ORT_DISABLE_TELEMETRY",)


def forbid_telemetry() -> None:
    """Turn reports to their makers off for all runtimes that this process is yet to load."""
    for name in _SWITCHES:
        os.environ[name] = "1"
