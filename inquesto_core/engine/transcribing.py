"""Which model hears a run's calls, what becomes of what it heard, and where it waits.

What was heard is always kept as itself (``asr_turns``, ``asr_words``). It is *read* (judged and
counted) only where a call brings no transcript; where it brings one, both are compared and that one
stays.
A call whose timing is not evaluated is not heard: its segments do not say who speaks when.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from inquesto_core.bundle import read_bundle
from inquesto_core.canonical import digest_json
from inquesto_core.compare.transcripts import compared_rows
from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.evidence import make_table
from inquesto_core.evidence.rows import ASR
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.model_parts import pinned_model, require_whole_model
from inquesto_core.instruments.transcriber import HeardSide, Transcriber, heard_rows
from inquesto_core.instruments.transcriber_files import whisper_files
from inquesto_core.instruments.transcriber_settings import transcriber_settings
from inquesto_core.instruments.transcriber_whisper import WhisperTranscriber, library_versions
from inquesto_core.protocol import hearing_of
from inquesto_core.score import TranscriberUse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from inquesto_core.bundle import BundleRef
    from inquesto_core.instruments.transcriber import HeardWord
    from inquesto_core.protocol import Protocol

__all__ = [
    "HEARD_KIND",
    "ChosenTranscriber",
    "Transcribed",
    "choose_transcriber",
    "needs_transcriber",
    "transcribe_run",
    "with_heard_text",
    "words_made_by",
]

_FOLDER = "folder:"
_WITHOUT_MODEL = ("auto", "none")
_PINNED = "pinned"
_SIDES = ("caller", "agent")

#: The kind of entry that the words of a window are.
HEARD_KIND = "heard"

Row = dict[str, Any]


def words_made_by(protocol: Protocol, model_sha256: str) -> str:
    """Return the digest of what hears: a model under a protocol's pin."""
    return digest_json({"hearing": hearing_of(protocol), "model": model_sha256})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTranscriber:
    """The model that hears, before it is loaded.

    Parameters
    ----------
    use : TranscriberUse
        What the record says of it: ``pinned`` only for the pinned files on the pinned build.
    """

    folder: Path
    sha256: str
    use: TranscriberUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcribed:
    """What hearing a run's calls gave.

    Parameters
    ----------
    tables : dict of polars.DataFrame
        calls, transcript, words, asr_turns, asr_words, word_errors, transcript_differences.
    use : TranscriberUse
        ``none`` where no call's transcript is what was heard.
    provenance : dict
        What the record says of how it came about.
    """

    tables: dict[str, pl.DataFrame]
    use: TranscriberUse
    provenance: dict[str, Any]


def needs_transcriber(spec: str) -> bool:
    """Return whether a specification needs a model.

    Raises
    ------
    InstrumentError
        Code ``transcriber_unknown``.
    """
    if spec in _WITHOUT_MODEL:
        return False
    if spec == _PINNED or (spec.startswith(_FOLDER) and len(spec) > len(_FOLDER)):
        return True
    raise InstrumentError(
        Problem(
            code="transcriber_unknown",
            found=f"{spec!r} is no transcriber",
            expected=f"{', '.join(_WITHOUT_MODEL)}, {_PINNED} or {_FOLDER}PATH",
        )
    )


def choose_transcriber(spec: str, protocol: Protocol) -> ChosenTranscriber:
    """Return the model that ``pinned`` or ``folder:PATH`` names, the digests of its files known.

    Raises
    ------
    InstrumentError
        ``extra_missing``, ``model_missing``, ``model_not_pinned``, ``model_incomplete``,
        ``model_unreadable``.
    """
    if importlib.util.find_spec("faster_whisper") is None:
        raise InstrumentError(
            Problem(
                code="extra_missing",
                found=f"--transcriber {spec} needs faster-whisper, which is not installed",
                expected="the extra `asr`",
                remedy="bin/setup asr in a checkout, else pip install 'inquesto-core[asr]'; "
                "or leave --transcriber out",
            )
        )
    pin = protocol.instruments.asr
    settings = transcriber_settings(pin)
    if spec == _PINNED:
        folder = require_whole_model(pinned_model(pin)).parent
    else:
        folder = Path(spec.removeprefix(_FOLDER))
    files = whisper_files(folder)
    is_model = files.are_pinned(pin, settings)
    name = pin.name if is_model else folder.resolve().name
    unpinned = [
        f"{library} {importlib.metadata.version(library)}"
        for library, version in (
            (pin.library, settings.library_version),
            (settings.runtime, settings.runtime_version),
        )
        if importlib.metadata.version(library) != version
    ]
    use = TranscriberUse(
        kind="pinned" if is_model and not unpinned else "folder",
        label=f"{name} on {', '.join(unpinned)}" if unpinned else name,
        model=name,
        sha256=files.model,
    )
    return ChosenTranscriber(folder=folder, sha256=files.model, use=use)


def transcribe_run(
    tables: Mapping[str, pl.DataFrame],
    refs: Mapping[str, BundleRef],
    chosen: ChosenTranscriber,
    *,
    protocol: Protocol,
    kept: Path,
    workers: int,
    progress: Callable[[int, int], None],
) -> Transcribed:
    """Return the tables of a run with what the chosen model heard in its calls.

    Parameters
    ----------
    refs : mapping of call id to BundleRef
    kept : Path
        The evidence store of windows already heard; those found there are not heard again.
    workers : int
        Windows heard at once; changes no word.

    Raises
    ------
    InstrumentError
        The model cannot be loaded.
    """
    settings = transcriber_settings(protocol.instruments.asr)
    shelves, made_by = EvidenceStore.of(kept), words_made_by(protocol, chosen.sha256)
    transcriber = Transcriber(
        backend=WhisperTranscriber(chosen.folder, settings=settings, at_once=workers),
        sha256=chosen.sha256,
        settings=settings,
        store=shelves.shelf(HEARD_KIND, call_id="", made_by=made_by),
    )
    wanted = _heard_calls(tables["calls"])
    sides = _segments_by_side(tables["segments"])
    rows: dict[str, list[Row]] = {"asr_turns": [], "asr_words": []}
    for at, (call_id, *window_ms) in enumerate(wanted.iter_rows(), start=1):
        hearing = replace(
            transcriber, store=shelves.shelf(HEARD_KIND, call_id=call_id, made_by=made_by)
        )
        heard = _hear_call(call_id, refs[call_id], sides, window_ms, hearing, protocol)
        for name, more in heard_rows(call_id, heard, turn_pause_ms=settings.turn_pause_ms).items():
            rows[name] += more
        progress(at, wanted.height)
    out = {name: make_table(name, found) for name, found in rows.items()}
    compared = compared_rows(tables["transcript"], out["asr_turns"], wanted["call_id"])
    out |= {name: make_table(name, found) for name, found in compared.items()}
    model = chosen.use.model or chosen.folder.name
    out |= with_heard_text(tables, out, wanted["call_id"], model)
    read = wanted.join(tables["calls"].filter("has_transcript"), on="call_id", how="anti")
    return Transcribed(
        tables=out,
        use=chosen.use if read.height else TranscriberUse(kind="none"),
        provenance={
            "model": chosen.use.model,
            "sha256": chosen.sha256,
            "is_pinned": chosen.use.kind == "pinned",
            "library": library_versions(),
            "calls": wanted.height,
            "read": read.height,
            "words": out["asr_words"].height,
            "dropped": out["asr_words"]["dropped"].count(),
        },
    )


def _heard_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Return ``call_id, window_from_ms, window_to_ms`` of the calls that are heard."""
    usable = (
        pl.col("exclusion_reason").is_null()
        & (pl.col("timing_source") == "measured")
        & (pl.col("timing_reasons").list.len() == 0)
    )
    return calls.filter(usable).select("call_id", "window_from_ms", "window_to_ms").sort("call_id")


def _segments_by_side(segments: pl.DataFrame) -> dict[tuple[str, str, bool], NDArray[np.int64]]:
    """Return intervals by call, side, and whether they are speech of that side."""
    parts = segments.with_columns(accepted=pl.col("rejected").is_null()).partition_by(
        "call_id", "channel", "accepted", as_dict=True
    )
    return {
        (str(key[0]), str(key[1]), bool(key[2])): rows.select("start_ms", "end_ms").to_numpy()
        for key, rows in parts.items()
    }


def _hear_call(
    call_id: str,
    ref: BundleRef,
    segments: Mapping[tuple[str, str, bool], NDArray[np.int64]],
    window_ms: Sequence[int],
    transcriber: Transcriber,
    protocol: Protocol,
) -> dict[str, tuple[HeardWord, ...]]:
    recording = decode_call(read_bundle(ref), limits=media_limits(protocol))
    low_ms, high_ms = window_ms
    nothing = np.empty((0, 2), np.int64)
    heard = {}
    for side in _SIDES:
        sound = getattr(recording, side)
        if sound is None:
            continue
        speech = np.clip(segments.get((call_id, side, True), nothing), low_ms, high_ms)
        heard[side] = transcriber.hear(
            HeardSide(
                samples=sound.samples,
                speech=speech[speech[:, 0] < speech[:, 1]],
                rejected=segments.get((call_id, side, False), nothing),
            )
        )
    return heard


def with_heard_text(
    tables: Mapping[str, pl.DataFrame],
    heard: Mapping[str, pl.DataFrame],
    call_ids: pl.Series,
    model: str,
) -> dict[str, pl.DataFrame]:
    """Return tables calls, transcript and words in which calls without transcript have the heard.

    Parameters
    ----------
    heard : mapping of str to polars.DataFrame
        Tables asr_turns and asr_words.
    call_ids : polars.Series
        The calls that were heard, were it nothing.
    """
    calls = tables["calls"]
    bare = calls.filter(
        ~pl.col("has_transcript").fill_null(value=False)
        & pl.col("call_id").is_in(call_ids.implode())
    ).select("call_id")
    turns = heard["asr_turns"].join(bare, on="call_id", how="semi")
    words = (
        heard["asr_words"]
        .filter(pl.col("turn").is_not_null())
        .join(bare, on="call_id", how="semi")
        .sort("call_id", "turn", "position")
        .with_columns(position=pl.int_range(pl.len()).over("call_id", "turn"))
    )
    own = (pl.lit(ASR).alias("source"), pl.lit(model).alias("origin"))
    return {
        "calls": calls.with_columns(
            has_transcript=pl.col("has_transcript")
            | pl.col("call_id").is_in(bare["call_id"].implode())
        ),
        "transcript": _joined(tables, "transcript", turns.with_columns(*own)),
        "words": _joined(tables, "words", words.with_columns(own[0])),
    }


def _joined(tables: Mapping[str, pl.DataFrame], name: str, more: pl.DataFrame) -> pl.DataFrame:
    table = tables[name]
    keep = [column for column in table.columns if column in more.columns]
    return make_table(name, [*table.to_dicts(), *more.select(keep).to_dicts()])
