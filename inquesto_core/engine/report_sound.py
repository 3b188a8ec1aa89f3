"""The sound of a report: which stretches, from which bundles, and how much of it fits.

A bundle is known by the digest of its `call.json`, and its recording is played only where its own
digest is the one that was scored: what a reader hears is what the score was made of.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.bundle import BundleRef, find_bundles, read_bundle
from inquesto_core.bundle.files import hash_file
from inquesto_core.errors import InquestoError
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.clip import encode_clip
from inquesto_core.instruments.extract import media_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from inquesto_core.instruments.audio import Recording
    from inquesto_core.protocol import Protocol

__all__ = ["PlannedClip", "Sounds", "plan_clips"]

#: What is heard before an event begins and after it ends.
BEFORE_MS, AFTER_MS = 3000, 2500
#: A longer event is heard from its beginning.
LONGEST_MS = 20_000
_CALL_FILE = "call.json"
#: Decoded calls that are kept while their clips are cut.
_KEPT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClip:
    """A stretch of a call around one or more events.

    Parameters
    ----------
    order : tuple of int
        Sorts clips, the most severe event first, then as calls and times are ordered.
    events : tuple of dict
        As the page of the call has them.
    """

    call_id: str
    start_ms: int
    end_ms: int
    order: tuple[int, int, int]
    events: tuple[Mapping[str, object], ...] = field(repr=False)


def plan_clips(
    call_id: str,
    place: int,
    events: Sequence[Mapping[str, object]],
    cited_ms: Mapping[int, tuple[int, int]],
    *,
    call_ms: int,
) -> list[PlannedClip]:
    """Return the stretches to hear of a call; those that overlap are one.

    Parameters
    ----------
    place : int
        Of the call among those of the report.
    events : sequence of dict
        ``severity``, ``at``, ``end`` (ms or None), and ``turn``: the cited line of the transcript.
    cited_ms : mapping of line to its start and end
    """
    spans = []
    for event in events:
        span = _span_of(event, cited_ms)
        if span is not None and span[0] < call_ms:
            start = max(span[0] - BEFORE_MS, 0)
            end = min(span[1] + AFTER_MS, start + LONGEST_MS, call_ms)
            spans.append((start, end, event))
    spans.sort(key=lambda each: each[:2])
    joined: list[tuple[int, int, list[Mapping[str, object]]]] = []
    for start, end, event in spans:
        if (
            joined
            and start <= joined[-1][1]
            and max(end, joined[-1][1]) - joined[-1][0] <= LONGEST_MS
        ):
            begin, last, held = joined.pop()
            joined.append((begin, max(last, end), [*held, event]))
        else:
            joined.append((start, end, [event]))
    return [
        PlannedClip(
            call_id=call_id,
            start_ms=start,
            end_ms=end,
            order=(-max(_severity(event) for event in held), place, start),
            events=tuple(held),
        )
        for start, end, held in joined
        if end > start
    ]


def _severity(event: Mapping[str, object]) -> int:
    level = event["severity"]
    return level if isinstance(level, int) else 0


def _span_of(
    event: Mapping[str, object], cited_ms: Mapping[int, tuple[int, int]]
) -> tuple[int, int] | None:
    at, end, turn = event["at"], event["end"], event["turn"]
    if isinstance(at, int):
        return at, end if isinstance(end, int) else at
    return cited_ms.get(turn) if isinstance(turn, int) else None


class Sounds:
    """The recordings of a run's calls, found in sources; a context, for archives are unpacked.

    Parameters
    ----------
    sources : sequence of path
        Bundles, folders of bundles, archives or manifests on this machine.
    inputs : polars.DataFrame
        What the run was made of: columns call, file, sha256.
    """

    def __init__(
        self, sources: Sequence[str | Path], inputs: pl.DataFrame, *, protocol: Protocol
    ) -> None:
        self._sources, self._inputs = sources, inputs
        self._limits = media_limits(protocol)
        self._scratch = tempfile.TemporaryDirectory(prefix="inquesto-report-")
        self._bundles: dict[str, BundleRef] = {}
        self._decoded: OrderedDict[str, Recording | None] = OrderedDict()
        #: Calls whose sound was asked for and is not there, and why.
        self.silent: dict[str, str] = {}

    def __enter__(self) -> Sounds:
        """Find the bundles."""
        scored = self._inputs.filter(pl.col("file") == _CALL_FILE)
        calls = dict(scored.select("sha256", "call").iter_rows())
        found = find_bundles(self._sources, scratch=Path(self._scratch.name))
        for ref in found.refs:
            try:
                call_id = calls.get(hash_file(ref.path, _CALL_FILE))
            except InquestoError:
                continue
            if call_id is not None:
                self._bundles.setdefault(call_id, ref)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Forget what was unpacked."""
        self._scratch.cleanup()

    @property
    def found_n(self) -> int:
        """Return how many of the run's calls have a bundle in the sources."""
        return len(self._bundles)

    def within(
        self,
        clips: Sequence[PlannedClip],
        *,
        budget_bytes: int,
        progress: Callable[[int, int], None],
    ) -> list[tuple[PlannedClip, bytes]]:
        """Return clips with their sound, the most severe first, as long as they fit.

        One that no longer fits ends it, so that nothing less severe takes its place.
        """
        taken: list[tuple[PlannedClip, bytes]] = []
        spent, ordered = 0, sorted(clips, key=lambda clip: clip.order)
        for done, (clip, sound) in enumerate(self._encoded(ordered), 1):
            progress(done, len(ordered))
            if sound is None:
                continue
            if spent + len(sound) > budget_bytes:
                break
            spent += len(sound)
            taken.append((clip, sound))
        return taken

    def whole(self, call_id: str, call_ms: int) -> bytes | None:
        """Return the sound of a whole call, or None with the reason in `silent`."""
        recording = self._recording(call_id)
        return encode_clip(recording, 0, call_ms) if recording and call_ms > 0 else None

    def _encoded(self, clips: Sequence[PlannedClip]) -> Iterator[tuple[PlannedClip, bytes | None]]:
        """Yield clips in order, some of them encoded at once."""
        at_once = max(os.cpu_count() or 1, 1)
        with ThreadPoolExecutor(at_once) as pool:
            for begin in range(0, len(clips), at_once):
                some = clips[begin : begin + at_once]
                heard = [self._recording(clip.call_id) for clip in some]
                yield from zip(some, pool.map(_cut, some, heard), strict=True)

    def _recording(self, call_id: str) -> Recording | None:
        if call_id not in self._decoded:
            self._decoded[call_id] = self._read(call_id)
            while len(self._decoded) > _KEPT + (os.cpu_count() or 1):
                self._decoded.popitem(last=False)
        return self._decoded[call_id]

    def _read(self, call_id: str) -> Recording | None:
        ref = self._bundles.get(call_id)
        if ref is None:
            self.silent[call_id] = "its bundle is not in the sources"
            return None
        try:
            bundle = read_bundle(ref)
            recording = decode_call(bundle, limits=self._limits)
        except InquestoError as exc:
            self.silent[call_id] = exc.problem.found
            return None
        scored = self._inputs.filter(pl.col("call") == call_id)
        wanted = dict(scored.select("file", "sha256").iter_rows())
        held = dict(bundle.digests)
        if any(held.get(each.file) != wanted.get(each.file) for each in bundle.call.audio):
            self.silent[call_id] = "its recording is not the one that was scored"
            return None
        if recording.caller is None or recording.agent is None:
            self.silent[call_id] = "its recording has no two sides to play"
            return None
        return recording


def _cut(clip: PlannedClip, recording: Recording | None) -> bytes | None:
    return None if recording is None else encode_clip(recording, clip.start_ms, clip.end_ms)
