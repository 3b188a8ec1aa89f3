"""Real clips with one labelled caller onset each, and how far a detector is from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.timing_metrics import join_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Clip", "ClipOnsets", "compare_clips", "read_clips"]

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One entry of `labels.json`."""

    name: str
    kind: str
    audio: Path
    caller_channel: int
    agent_channel: int
    onset_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipOnsets:
    """One clip's labelled onset and the error of the measured one nearest to it; None = none."""

    clip: Clip
    error_ms: int | None


def read_clips(folder: Path) -> tuple[Clip, ...]:
    """Return the clips of ``folder/labels.json``, in its order."""
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    return tuple(
        Clip(
            name=label["clip"],
            kind=label["kind"],
            audio=folder / label["clip"],
            caller_channel=label["caller_channel"],
            agent_channel=label["agent_channel"],
            onset_ms=label["caller_onset_ms"],
        )
        for label in labels
    )


def compare_clips(
    clips: Sequence[Clip], heard: Mapping[str, Sequence[Interval]]
) -> tuple[ClipOnsets, ...]:
    """Return the error of the caller run, joined over 300 ms, that begins nearest to the label."""
    found = []
    for clip in clips:
        errors = [start - clip.onset_ms for start, _ in join_runs(heard[clip.name])]
        found.append(ClipOnsets(clip=clip, error_ms=min(errors, key=abs, default=None)))
    return tuple(found)
