"""What a report is made of, gathered from a run and, for its sound, from the bundles."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.report_sound import PlannedClip, Sounds, plan_clips
from inquesto_core.engine.report_tables import evidence_of_calls, is_whole, summed_tables
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import load_run
from inquesto_core.errors import IncomparableError, Problem, StoreError
from inquesto_core.places import refuse_inside
from inquesto_core.report.explain import facts_of_calls
from inquesto_core.report.html import PAGES_A_BLOCK, ReportParts, report_page
from inquesto_core.report.html_call import call_page, clip_label
from inquesto_core.report.html_calls import call_columns, in_order_of_severity
from inquesto_core.report.html_packing import pack
from inquesto_core.report.html_record import agent_view
from inquesto_core.report.html_redact import redact_decisions, redact_facts
from inquesto_core.report.why import why
from inquesto_core.score.record import call_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["MAX_PAGES", "MAX_ROWS", "WrittenReport", "byte_count", "report"]

#: Calls that the table lists, and calls that have a page; those to look at first come first.
MAX_ROWS = 20_000
MAX_PAGES = 5_000

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(|[kKMG]|[KMG]i)B?", re.ASCII)
_UNITS = {"": 1, "k": 1000, "K": 1000, "M": 1000**2, "G": 1000**3}
_UNITS |= {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}
_SOUND = ("none", "events", "all")
#: What a report begins with, so that another file is never written over.
_BEGIN = b"<!DOCTYPE html>\n<!-- inquesto-core report -->"
_PAGE, _SOUND_FOLDER = "index.html", "sound"
_FACTS_AT_ONCE = 480

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """A report as it was written.

    Parameters
    ----------
    path : Path
        The page.
    calls, listed, pages : int
        Calls of the run; those in the table; those with a page of their own.
    clips, clips_left_out : int
        Stretches of sound in the report, and those that did not fit or have no recording.
    size_bytes : int
        Of the page.
    notes : tuple of str
        What was left out, and why.
    """

    path: Path
    calls: int
    listed: int
    pages: int
    clips: int
    clips_left_out: int
    size_bytes: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A run as a report reads it: its calls in order, those to look at first before the others."""

    stored: StoredRun
    protocol: Protocol
    population: Population
    ordered: pl.DataFrame
    redact: bool

    def name(self, call_id: str | None) -> str | None:
        """Return what stands for a call in the report."""
        if call_id is None or not self.redact:
            return call_id
        key = self.stored.call_key or call_name_key(self.stored.inputs)
        return call_hash(call_id, key)


@dataclass(slots=True)
class _Pages:
    """Pages of calls, packed as they come, and the stretches of sound that they ask for."""

    blocks: list[str] = field(default_factory=list)
    block_of: dict[str, int] = field(default_factory=dict)
    planned: list[PlannedClip] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)


def report(
    run: str | Path,
    *,
    out: str | Path | None = None,
    sources: Sequence[str | Path] = (),
    audio: str = "events",
    audio_budget: str | int = "25MB",
    redact: bool = False,
    protocol: str | Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    sound_progress: Callable[[int, int], None] = lambda done, total: None,
) -> WrittenReport:
    """Write the report of a run as one page, and return what was written.

    Parameters
    ----------
    out : path, optional
        The page; with `audio` "all" a new or empty folder. By default ``RUN.html`` or
        ``RUN-report``, beside the run.
    sources : sequence of path
        Where the run's bundles lie on this machine; without them there is no sound.
    audio : {"events", "none", "all"}
        Sound around events, in the page; none; whole calls, as files beside the page.
    audio_budget : str or int
        How much sound a page may hold: bytes, or a number with kB, MB, GB, KiB, MiB, GiB.
    redact : bool
        Leave transcript, arguments, reasons and sound out; calls are named by the hashes that the
        records name them by.
    protocol : str or path, optional
        As for `protocol_of_run`.

    Raises
    ------
    InquestoError
        As `load_run` and `protocol_of_run`; ``option_unused``: options that contradict each other;
        ``out_exists``: another file lies there; ``run_unwritable``.
    """
    budget = byte_count(audio_budget)
    _require_sense(audio, redact=redact, sources=sources)
    place = _place(Path(run), out, is_folder=audio == "all")
    _require_free(place, is_folder=audio == "all")
    reading = _read(run, redact=redact, protocol=protocol)
    pages = _gather(reading, progress)
    agents = {print_: at for at, print_ in enumerate(reading.stored.records)}
    with tempfile.TemporaryDirectory(prefix="inquesto-report-") as scratch:
        sound = _hear(
            reading, pages, sources, audio, budget, Path(scratch) / _SOUND_FOLDER, sound_progress
        )
        listed = reading.ordered.head(MAX_ROWS)
        summed = summed_tables(reading.stored)
        notes = (*_limits(reading, pages, listed.height), *sound.notes)
        parts = ReportParts(
            agents=tuple(
                agent_view(
                    record,
                    index=index,
                    tables=summed,
                    decisions=reading.ordered,
                    protocol=reading.protocol,
                    population=reading.population,
                )
                for index, record in enumerate(reading.stored.records.values())
            ),
            columns=call_columns(
                listed,
                names=[reading.name(call_id) for call_id in listed["call_id"]],
                agents=agents,
                pages=pages.block_of,
                protocol=reading.protocol,
            ),
            blocks=tuple(pages.blocks),
            clips=sound.clips,
            sounds=tuple(sound.sounds),
            notes=notes,
            protocol=_protocol_facts(reading.protocol),
            facts=_facts(reading),
            redacted=redact,
            has_files=audio == "all",
        )
        data = report_page(parts).encode()
        page = _write(place, data, files=Path(scratch) if audio == "all" else None)
    return WrittenReport(
        path=page,
        calls=reading.ordered.height,
        listed=listed.height,
        pages=len(pages.block_of),
        clips=sum(map(len, sound.clips.values())),
        clips_left_out=sound.left_out,
        size_bytes=len(data),
        notes=notes,
    )


def byte_count(size: str | int) -> int:
    """Return a size in bytes.

    Raises
    ------
    IncomparableError
        ``size_unknown``: it is not a number with a unit of bytes.

    Examples
    --------
    >>> byte_count("25MB"), byte_count("1.5 KiB"), byte_count(7)
    (25000000, 1536, 7)
    """
    found = _SIZE.fullmatch(str(size).strip())
    if found is None:
        raise IncomparableError(
            Problem(
                code="size_unknown",
                found=f"{size!r} is no size",
                expected="a number of bytes, or one with kB, MB, GB, KiB, MiB or GiB",
                remedy="for example --audio-budget 25MB",
            )
        )
    return int(float(found[1]) * _UNITS[found[2]])


def _require_sense(audio: str, *, redact: bool, sources: Sequence[str | Path]) -> None:
    text = None
    if audio not in _SOUND:
        text = (f"--audio {audio}", f"one of {', '.join(_SOUND)}")
    elif audio == "all" and redact:
        text = ("--audio all with --redact", "a redacted report has no sound")
    elif audio == "all" and not sources:
        text = ("--audio all without --source", "--source with the folder of the run's bundles")
    if text is not None:
        raise IncomparableError(Problem(code="option_unused", found=text[0], expected=text[1]))


def _place(run: Path, out: str | Path | None, *, is_folder: bool) -> Path:
    """Return where the page is to lie, or the folder of page and sound."""
    if out is not None:
        return Path(out)
    name = run.resolve().name or "run"
    return run.resolve().parent / (f"{name}-report" if is_folder else f"{name}.html")


def _read(run: str | Path, *, redact: bool, protocol: str | Path | None) -> _Reading:
    stored = load_run(run, tables=())
    law = protocol_of_run(stored, protocol)
    people = population_of_run(stored, protocol=law)
    decisions = redact_decisions(stored.decisions, people) if redact else stored.decisions
    return _Reading(
        stored=stored,
        protocol=law,
        population=people,
        ordered=in_order_of_severity(decisions),
        redact=redact,
    )


def _gather(reading: _Reading, progress: Callable[[int, int], None]) -> _Pages:
    """Return the pages of the calls to look at first, as far as the run keeps evidence."""
    pages = _Pages()
    chosen = reading.ordered.head(MAX_ROWS).with_row_index("place")
    chosen = chosen.filter(pl.col("call_id").is_not_null()).head(MAX_PAGES)
    if chosen.is_empty() or not reading.stored.has_table("calls"):
        return pages
    places = dict(chosen.select("call_id", "place").iter_rows())
    outcomes = dict(chosen.select("call_id", "outcome").iter_rows())
    agents = {key: str(record["agent"]) for key, record in reading.stored.records.items()}
    waiting: dict[str, Row] = {}
    for done, facts in enumerate(_facts_in_order(reading, list(places)), 1):
        call_id, fingerprint = facts["decision"]["call_id"], facts["decision"]["agent_fingerprint"]
        shown = _redacted(facts, reading) if reading.redact else facts
        page = call_page(
            shown,
            outcome=outcomes[call_id],
            agent=agents.get(fingerprint, ""),
            redacted=reading.redact,
        )
        if not reading.redact:
            pages.planned += _clips_of(page, facts, places[call_id])
            pages.lengths[call_id] = page["line"]["end"]
        waiting[str(places[call_id])] = page
        pages.block_of[call_id] = len(pages.blocks)
        if len(waiting) == PAGES_A_BLOCK:
            pages.blocks.append(pack(waiting))
            waiting = {}
        progress(done, len(places))
    if waiting:
        pages.blocks.append(pack(waiting))
    return pages


def _facts_in_order(reading: _Reading, call_ids: Sequence[str]) -> Iterator[Row]:
    law, people = reading.protocol, reading.population
    parts = evidence_of_calls(reading.stored, call_ids, protocol=law, population=people)
    for ours, tables in parts:
        for begin in range(0, len(ours), _FACTS_AT_ONCE):
            some = ours[begin : begin + _FACTS_AT_ONCE]
            yield from facts_of_calls(some, tables, reading.ordered, law, people)


def _redacted(facts: Row, reading: _Reading) -> Row:
    name = str(reading.name(facts["decision"]["call_id"]))
    hidden = redact_facts(
        facts, name=name, protocol=reading.protocol, population=reading.population
    )
    return {**hidden, "why": why(hidden, reading.protocol)}


def _clips_of(page: Row, facts: Row, place: int) -> list[PlannedClip]:
    cited = {
        row["position"]: (row["start_ms"], row["end_ms"])
        for row in facts["transcript"]
        if row["start_ms"] is not None and row["end_ms"] is not None
    }
    return plan_clips(
        facts["decision"]["call_id"], place, page["events"], cited, call_ms=page["line"]["end"]
    )


@dataclass(slots=True)
class _Heard:
    """The sound of a report: in the page, or as files beside it."""

    clips: dict[int, list[Row]] = field(default_factory=dict)
    sounds: list[bytes] = field(default_factory=list)
    left_out: int = 0
    notes: tuple[str, ...] = ()


def _hear(
    reading: _Reading,
    pages: _Pages,
    sources: Sequence[str | Path],
    audio: str,
    budget: int,
    folder: Path,
    progress: Callable[[int, int], None],
) -> _Heard:
    if reading.redact:
        note = (
            "This report is redacted: transcript, arguments, reasons, names of files and sound "
            "are left out, and calls are named by the hashes that the record names them by."
        )
        return _Heard(notes=(note,))
    if audio == "none" or not pages.block_of:
        return _Heard(
            notes=("Sound was left out as asked for (--audio none).",) * (audio == "none")
        )
    if not sources:
        note = (
            "There is no sound: the run does not hold its recordings. Name the folder of its call "
            "bundles with --source to hear what lies around each event."
        )
        return _Heard(left_out=len(pages.planned), notes=(note,))
    with Sounds(sources, reading.stored.inputs, protocol=reading.protocol) as sounds:
        if audio == "all":
            return _whole_calls(reading, pages, sounds, folder, progress)
        return _event_clips(reading, pages, sounds, budget, progress)


def _event_clips(
    reading: _Reading,
    pages: _Pages,
    sounds: Sounds,
    budget: int,
    progress: Callable[[int, int], None],
) -> _Heard:
    heard = _Heard()
    # A page holds sound in base64, four bytes for three.
    taken = sounds.within(pages.planned, budget_bytes=budget * 3 // 4, progress=progress)
    for clip, sound in taken:
        row = {
            "from": clip.start_ms,
            "to": clip.end_ms,
            "label": clip_label(clip.events),
            "data": len(heard.sounds),
        }
        heard.clips.setdefault(clip.order[1], []).append(row)
        heard.sounds.append(sound)
    for rows in heard.clips.values():
        rows.sort(key=lambda row: int(row["from"]))
    heard.left_out = len(pages.planned) - len(taken)
    notes = [f"Sound around events: {len(taken)} of {len(pages.planned)} stretches."]
    unheard = sum(clip.call_id in sounds.silent for clip in pages.planned)
    if unheard:
        notes.append(f"{unheard} have no recording to play ({_why_silent(sounds)}).")
    if heard.left_out > unheard:
        notes.append(
            f"{heard.left_out - unheard} did not fit into {budget / 1e6:g} MB, the least severe "
            "first (--audio-budget)."
        )
    heard.notes = (" ".join(notes),)
    return heard


def _why_silent(sounds: Sounds) -> str:
    counts: dict[str, int] = {}
    for reason in sounds.silent.values():
        counts[reason] = counts.get(reason, 0) + 1
    return "; ".join(f"{reason}: {n} calls" for reason, n in sorted(counts.items()))


def _whole_calls(
    reading: _Reading,
    pages: _Pages,
    sounds: Sounds,
    folder: Path,
    progress: Callable[[int, int], None],
) -> _Heard:
    heard = _Heard()
    folder.mkdir(mode=0o700, parents=True)
    for place, call_id in enumerate(reading.ordered["call_id"]):
        if call_id not in pages.block_of:
            continue
        sound = sounds.whole(call_id, pages.lengths[call_id])
        progress(len(heard.clips) + len(sounds.silent), len(pages.block_of))
        if sound is None:
            continue
        name = f"{place:05d}.ogg"
        (folder / name).write_bytes(sound)
        row = {"from": 0, "to": pages.lengths[call_id], "label": "the whole call"}
        heard.clips[place] = [{**row, "file": f"{_SOUND_FOLDER}/{name}"}]
    heard.left_out = len(sounds.silent)
    note = f"Whole calls as files beside this page: {len(heard.clips)} of {len(pages.block_of)}."
    if sounds.silent:
        note += f" The others cannot be played ({_why_silent(sounds)})."
    heard.notes = (note,)
    return heard


def _limits(reading: _Reading, pages: _Pages, listed: int) -> list[str]:
    """Return what of a large run the report does not hold."""
    calls, notes = reading.ordered.height, []
    if listed < calls:
        notes.append(
            f"The table lists {listed:,} of {calls:,} calls, those to look at first; the figures "
            "above it are of all calls."
        )
    named = reading.ordered["call_id"].drop_nulls().len()
    if not reading.stored.has_table("calls"):
        notes.append("The run holds results and no evidence, so that calls have no pages.")
    elif len(pages.block_of) < named:
        notes.append(
            f"{len(pages.block_of):,} of {named:,} calls have a page, those to look at first; "
            "inquesto-core explain RUN CALL shows any other."
        )
    if not is_whole(reading.stored):
        notes.append(
            "Of a run of so many calls the waits and the judge's answers are given as the record "
            "sums them up, not by condition and speaker group."
        )
    return notes


def _protocol_facts(protocol: Protocol) -> Row:
    return {
        "name": protocol.name,
        "version": protocol.version,
        "status": protocol.status,
        "digest": protocol.digest,
        "fail_at": protocol.fail_at,
        "level": f"{100 * protocol.confidence_level:g}",
        "severities": [
            {"level": each.level, "name": each.name, "fails": each.level >= protocol.fail_at}
            for each in protocol.severities
        ],
    }


def _facts(reading: _Reading) -> tuple[tuple[str, str], ...]:
    manifest: Mapping[str, Any] = reading.stored.manifest
    models = "; ".join(
        f"{model['name']} {str(model.get('sha256') or '')[:12]}".strip()
        for model in manifest.get("models", ())
    )
    return (
        ("Protocol", f"{reading.protocol.name}, SHA-256 {reading.protocol.digest}"),
        ("Population", f"{reading.population.name}, SHA-256 {reading.population.digest}"),
        ("Engine", f"inquesto-core {manifest['engine']['version']}"),
        ("Models", models or "none"),
        ("Run written", str(manifest["times"]["written_at"])),
    )


def _write(place: Path, data: bytes, *, files: Path | None) -> Path:
    """Write the page, whole or not at all, with its sound beside it; return where it lies."""
    page = place if files is None else place / _PAGE
    try:
        if files is not None:
            _require_new_folder(place)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            (place / _SOUND_FOLDER).mkdir(mode=0o700, exist_ok=True)
            for sound in sorted((files / _SOUND_FOLDER).iterdir()):
                _write_file(place / _SOUND_FOLDER / sound.name, sound.read_bytes())
        else:
            _require_ours(page)
            page.parent.mkdir(parents=True, exist_ok=True)
        _write_file(page, data)
    except OSError as exc:
        raise _unwritable(place, exc) from exc
    return page


def _unwritable(place: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="run_unwritable",
            found=f"{place.name} cannot be written: {exc.strerror}",
            expected="a writable folder with room",
            remedy="free space or name another place with --out",
        )
    )


def _write_file(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read; a report may hold what callers said."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".report-", delete=False) as out:
        temporary = Path(out.name)
        try:
            out.write(data)
            out.flush()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _require_free(place: Path, *, is_folder: bool) -> None:
    """Refuse a place where the report cannot be put, before anything is drawn."""
    refuse_inside(place)
    try:
        _require_new_folder(place) if is_folder else _require_ours(place)
    except OSError as exc:
        raise _unwritable(place, exc) from exc


def _require_new_folder(place: Path) -> None:
    page = place / _PAGE
    if place.is_dir() and any(place.iterdir()):
        _require_ours(page, must_be=True)
    elif place.exists() and not place.is_dir():
        raise _exists(place)


def _require_ours(page: Path, *, must_be: bool = False) -> None:
    """Refuse to write over what is no report."""
    if page.is_file():
        with page.open("rb") as source:
            if source.read(len(_BEGIN)) == _BEGIN:
                return
    elif not page.exists() and not must_be:
        return
    raise _exists(page)


def _exists(place: Path) -> StoreError:
    return StoreError(
        Problem(
            code="out_exists",
            found=f"{place.name} is there, and is no report",
            expected="a new name, or an earlier report",
            remedy="name another place with --out",
        )
    )
