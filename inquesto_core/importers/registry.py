"""Which platforms can be imported, and in which module each is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.errors import BundleError, Problem

if TYPE_CHECKING:
    from inquesto_core.importers.draft import Draft, ImportOptions
    from inquesto_core.importers.fields import Node

__all__ = ["Importer", "importer_of", "platform_names"]

#: Platform and module; the module's `IMPORTER` says the rest.
_MODULES = {
    "generic": "generic",
    "vapi": "vapi",
    "retell": "retell",
    "livekit": "livekit",
    "pipecat": "pipecat",
    "twilio": "twilio",
    "elevenlabs": "elevenlabs",
    "eva": "eva",
    "openai-realtime": "openai_realtime",
    "deepgram-agent": "deepgram_agent",
    "bland": "bland",
    "contact-lens": "contact_lens",
    "tau2": "tau2",
    "nemo": "nemo",
    "inquesto-score": "inquesto_score",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """How one platform's exports are read.

    Parameters
    ----------
    holds : str
        What an export holds, for people.
    patterns : tuple of str
        The names of exports in a folder.
    calls : callable
        The calls in a document.
    draft : callable
        What one of them says; it is told the export's path, for files that lie beside it.
    recorders : mapping of str to str
        Recorder kinds that `--recorder` takes, and what each is.
    is_log : bool
        A file of lines is one call, and its lines the call's events.
    """

    name: str
    holds: str
    patterns: tuple[str, ...] = ("*.json", "*.jsonl")
    calls: Callable[[Node, ImportOptions], Sequence[Node]]
    draft: Callable[[Node, Path, ImportOptions], Draft]
    recorders: Mapping[str, str] = field(default_factory=dict)
    is_log: bool = False


def platform_names() -> tuple[str, ...]:
    """Return the platforms that can be imported."""
    return tuple(_MODULES)


def importer_of(platform: str, options: ImportOptions) -> Importer:
    """Return a platform's importer.

    Raises
    ------
    BundleError
        Code ``platform_unknown``, or ``option_unused`` for an option that the platform has no use
        for.
    """
    if platform not in _MODULES:
        raise BundleError(
            Problem(
                code="platform_unknown",
                found=f'there is no importer "{platform}"',
                expected="one of " + ", ".join(_MODULES),
                remedy="generic reads any export with a mapping",
            )
        )
    module = importlib.import_module(f"inquesto_core.importers.{_MODULES[platform]}")
    importer: Importer = module.IMPORTER
    if options.recorder is not None and options.recorder not in importer.recorders:
        known = ", ".join(importer.recorders)
        raise _unused(f"--recorder {options.recorder}", known or f"none: {platform} has one")
    if (platform == "generic") != (options.mapping is not None):
        raise _unused(
            "no --mapping" if platform == "generic" else "--mapping",
            "--mapping FILE with generic, and with nothing else",
        )
    return importer


def _unused(found: str, expected: str) -> BundleError:
    return BundleError(Problem(code="option_unused", found=f"was given {found}", expected=expected))
