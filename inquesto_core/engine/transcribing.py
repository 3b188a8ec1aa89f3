"""Which model hears a run's calls, what becomes of what it heard, and where it waits.

What was heard is always kept as itself (``asr_turns``, ``asr_words``). It is *read* (judged and
counted) only where a call brings no transcript; where it brings one, both are compared and that one
stays.
A call whose timing is not evaluated is not heard: its segments do not say who speaks when. Nor is
one whose hearing fails; it has no transcript, and says why.

In this machine one model hears several windows at once; on a cluster each worker loads the model
once and hears whole calls.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from inquesto_core.bundle import at_hand, read_bundle
from inquesto_core.canonical import digest_json
from inquesto_core.compare.transcripts import compared_rows
from inquesto_core.engine.executors import Lost
from inquesto_core.engine.extract import protocol_name, require_shared
from inquesto_core.errors import InstrumentError, Problem, StoreError
from inquesto_core.evidence import make_table
from inquesto_core.evidence.rows import ASR
from inquesto_core.evidence.store import EvidenceStore, Shelf
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.extract import media_limits, problem_row
from inquesto_core.instruments.model_parts import pinned_model, require_whole_model
from inquesto_core.instruments.transcriber import HeardSide, Transcriber, heard_rows
from inquesto_core.instruments.transcriber_files import whisper_files
from inquesto_core.instruments.transcriber_settings import transcriber_settings
from inquesto_core.instruments.transcriber_whisper import WhisperTranscriber, library_versions
from inquesto_core.protocol import hearing_of, load_protocol
from inquesto_core.score import TranscriberUse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from numpy.typing import NDArray

    from inquesto_core.bundle import BundleRef
    from inquesto_core.engine.executors import Executor
    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.places import Location
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

#: Tables of what is heard in one call.
_HEARD = ("asr_turns", "asr_words")
#: Why a call was not heard.
_HEARING_FAILED = "hearing_failed"
_HEARING_LOST = "worker_lost"

Row = dict[str, Any]
Rows = dict[str, list[Row]]


def words_made_by(protocol: Protocol, model_sha256: str) -> str:
    """Return the digest of what hears: a model under a protocol's pin."""
    return digest_json({"hearing": hearing_of(protocol), "model": model_sha256})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTranscriber:
    """The model that hears, before it is loaded.

    Parameters
    ----------
    spec : str
        How it was named: where another machine finds it.
    use : TranscriberUse
        What the record says of it: ``pinned`` only for the pinned files on the pinned build.
    """

    spec: str
    folder: Path
    sha256: str
    use: TranscriberUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcribed:
    """What hearing a run's calls gave.

    Parameters
    ----------
    tables : dict of polars.DataFrame
        calls, transcript, words, asr_turns, asr_words, word_errors, transcript_differences,
        problems.
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
    return ChosenTranscriber(spec=spec, folder=folder, sha256=files.model, use=use)


def transcribe_run(
    tables: Mapping[str, pl.DataFrame],
    refs: Mapping[str, BundleRef],
    chosen: ChosenTranscriber,
    *,
    protocol: Protocol,
    kept: Location,
    workers: int,
    executor: Executor,
    progress: Callable[[int, int], None],
) -> Transcribed:
    """Return the tables of a run with what the chosen model heard in its calls.

    Parameters
    ----------
    refs : mapping of call id to BundleRef
    kept : Location
        The evidence store of windows already heard; those found there are not heard again.
    workers : int
        Windows heard at once; changes no word.
    executor : Executor
        A cluster hears on its own machines; any other has the model hear here.

    Raises
    ------
    InstrumentError
        The model cannot be loaded.
    """
    wanted = _heard_calls(tables["calls"])
    tasks = _tasks(wanted, tables["segments"], refs)
    hearing = _Hearing(
        spec=chosen.spec,
        sha256=chosen.sha256,
        protocol=protocol_name(protocol),
        kept=kept.resolve(),
    )
    if executor.is_remote:
        results = _heard_elsewhere(tasks, hearing, executor)
    else:
        listener = _Listener(chosen, protocol=protocol, kept=kept, at_once=max(1, workers))
        results = ((at, listener.heard(task)) for at, task in enumerate(tasks))
    found: list[Rows] = [{} for _ in tasks]
    with closing(results):
        for done, (at, rows) in enumerate(results, start=1):
            found[at] = rows
            progress(done, len(tasks))
    problems = [row for rows in found for row in rows.get("problems", ())]
    deaf = pl.DataFrame({"call_id": [row["call_id"] for row in problems]}, {"call_id": pl.String})
    wanted = wanted.join(deaf, on="call_id", how="anti", maintain_order="left")
    heard_of = {name: [row for rows in found for row in rows.get(name, ())] for name in _HEARD}
    out = {name: make_table(name, rows) for name, rows in heard_of.items()}
    compared = compared_rows(tables["transcript"], out["asr_turns"], wanted["call_id"])
    out |= {name: make_table(name, rows) for name, rows in compared.items()}
    out["problems"] = make_table("problems", [*tables["problems"].to_dicts(), *problems])
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One call to hear: where it lies, what of it counts, and who speaks where.

    Parameters
    ----------
    speech, rejected : dict of side to int64 array of shape (n, 2), ms
    """

    call_id: str
    ref: BundleRef
    window_ms: tuple[int, int]
    speech: dict[str, NDArray[np.int64]]
    rejected: dict[str, NDArray[np.int64]]

    @property
    def spoken_ms(self) -> int:
        return sum(int((pairs[:, 1] - pairs[:, 0]).sum()) for pairs in self.speech.values())


def _tasks(
    wanted: pl.DataFrame, segments: pl.DataFrame, refs: Mapping[str, BundleRef]
) -> list[_Task]:
    parts = (
        segments.join(wanted, on="call_id", how="semi")
        .with_columns(accepted=pl.col("rejected").is_null())
        .partition_by("call_id", "channel", "accepted", as_dict=True)
    )
    sides: dict[tuple[str, bool], dict[str, NDArray[np.int64]]] = {}
    for (call_id, channel, accepted), rows in parts.items():
        of_call = sides.setdefault((str(call_id), bool(accepted)), {})
        of_call[str(channel)] = rows.select("start_ms", "end_ms").to_numpy()
    return [
        _Task(
            call_id=call_id,
            ref=refs[call_id],
            window_ms=(low_ms, high_ms),
            speech=sides.get((call_id, True), {}),
            rejected=sides.get((call_id, False), {}),
        )
        for call_id, low_ms, high_ms in wanted.iter_rows()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hearing:
    """What is done with a call on another machine: a model that is loaded once hears it."""

    spec: str
    sha256: str
    protocol: str
    kept: Location

    def __call__(self, task: _Task) -> Rows:
        """Return what was heard in a call."""
        return _worker.listener(self).heard(task)

    def begin(self) -> _Listener:
        """Load the model, proven to be the one that was chosen."""
        require_shared(self.kept)
        protocol = load_protocol(self.protocol)
        chosen = choose_transcriber(self.spec, protocol)
        if chosen.sha256 != self.sha256:
            raise InstrumentError(
                Problem(
                    code="worker_differs",
                    found=f"a worker's --transcriber {self.spec} has SHA-256 {chosen.sha256}",
                    expected=self.sha256,
                    remedy="put one model on every machine; nothing heard is lost",
                )
            )
        return _Listener(chosen, protocol=protocol, kept=self.kept, at_once=1)


class _Listener:
    """A loaded model, and where what it heard waits."""

    def __init__(
        self, chosen: ChosenTranscriber, *, protocol: Protocol, kept: Location, at_once: int
    ) -> None:
        self.protocol = protocol
        self.settings = transcriber_settings(protocol.instruments.asr)
        self.shelves = EvidenceStore.of(kept)
        self.made_by = words_made_by(protocol, chosen.sha256)
        self.transcriber = Transcriber(
            backend=WhisperTranscriber(chosen.folder, settings=self.settings, at_once=at_once),
            sha256=chosen.sha256,
            settings=self.settings,
            store=self._shelf(""),
        )

    def _shelf(self, call_id: str) -> Shelf:
        return self.shelves.shelf(HEARD_KIND, call_id=call_id, made_by=self.made_by)

    def heard(self, task: _Task) -> Rows:
        """Return rows of the tables `_HEARD`, or of a problem where the call cannot be heard."""
        hearing = replace(self.transcriber, store=self._shelf(task.call_id))
        try:
            with at_hand(task.ref) as ref:
                recording = decode_call(read_bundle(ref), limits=media_limits(self.protocol))
            heard = {
                side: hearing.hear(_side_of(task, side, sound.samples))
                for side in _SIDES
                if (sound := getattr(recording, side)) is not None
            }
        except (InstrumentError, StoreError):
            raise
        except Exception as exc:  # noqa: BLE001 - whatever one call does, the others are heard
            return _not_heard(task.call_id, _HEARING_FAILED, f"{type(exc).__name__}: {exc}")
        return heard_rows(task.call_id, heard, turn_pause_ms=self.settings.turn_pause_ms)


def _side_of(task: _Task, side: str, samples: Samples) -> HeardSide:
    nothing = np.empty((0, 2), np.int64)
    speech = np.clip(task.speech.get(side, nothing), *task.window_ms)
    return HeardSide(
        samples=samples,
        speech=speech[speech[:, 0] < speech[:, 1]],
        rejected=task.rejected.get(side, nothing),
    )


class _Worker:
    """The model of one process, loaded when first needed."""

    made_for: _Hearing | None = None
    loaded: _Listener | None = None

    def listener(self, hearing: _Hearing) -> _Listener:
        if self.loaded is None or self.made_for != hearing:
            self.loaded = hearing.begin()
            self.made_for = hearing
        return self.loaded


_worker = _Worker()


def _heard_elsewhere(
    tasks: Sequence[_Task], hearing: _Hearing, executor: Executor
) -> Generator[tuple[int, Rows], None, None]:
    """Yield what a cluster's workers heard, the longest speech first."""
    order = sorted(range(len(tasks)), key=lambda at: (-tasks[at].spoken_ms, at))
    with closing(executor.run(hearing, tasks, order=order)) as results:
        for at, found in results:
            if isinstance(found, Lost):
                yield at, _not_heard(tasks[at].call_id, _HEARING_LOST, found.how)
            else:
                yield at, found


def _not_heard(call_id: str, code: str, how: str) -> Rows:
    problem = Problem(
        code=code,
        call_id=call_id,
        found=f"could not be transcribed: {how}",
        expected="a call that is heard to its end",
        remedy="what needs its transcript is not evaluated; score it again",
    )
    return {"problems": [problem_row(problem, call_id)]}


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
