"""Which local file is a call's recording, and which of its channels carries whom.

Nothing is fetched. An export's address or path counts by its last part: a file of that name is
looked for in one folder, then one that is named like the call, then one that is named like the
export. Channels come from what the user says, or from a recorder whose order is documented; a
stereo file of any other is refused. One channel holds both: then there is no timing.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import AudioFile, Exclusion, Inferred
from inquesto_core.errors import BundleError, InstrumentError, Problem
from inquesto_core.importers.clock import MAX_TIME_MS

if TYPE_CHECKING:
    from inquesto_core.importers.draft import Draft, ImportOptions, Track

__all__ = ["Recorded", "find_recordings"]

#: What is said of an order of channels that no words of the call can contradict.
UNCHECKED = "; not checked by anything: no transcript"

#: Endings of sound files, also those that must be converted first, so that they are named.
_ENDINGS = (
    *(".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"),
    *(".mp4", ".m4a", ".webm", ".aac", ".amr"),
)
_ENDINGS_TRIED = tuple(ending for each in _ENDINGS for ending in (each, each.upper()))
_BY_NAME = "the file of the name that the export gives"
_HOW = (
    "name it with --recordings FILE, put it beside the export, or name its folder with "
    "--recordings; nothing is downloaded"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A call's recording as bundle entries: their `file` is the name inside the bundle."""

    sources: tuple[Path, ...] = ()
    entries: tuple[AudioFile, ...] = ()
    exclusion: Exclusion | None = None
    duration_ms: int | None = None
    timing_reasons: tuple[str, ...] = ()
    inferred: tuple[Inferred, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_recordings(
    draft: Draft, options: ImportOptions, *, export: Path, export_is_one_call: bool
) -> Recorded:
    """Return a call's recording, found on this machine and mapped to sides.

    Raises
    ------
    BundleError
        Code ``recording_missing``, ``recording_ambiguous``, ``channels_unstated`` or
        ``audio_unreadable``.
    """
    if options.no_audio:
        return Recorded()
    folder = options.recordings or export.parent
    stem = export.stem if export_is_one_call else None
    if folder.is_dir():
        tracks, files = _first_found(draft, options, folder, stem)
    else:
        tracks = draft.tracks
        files = tuple((_only(folder, draft, tracks), "said on the command line") for _ in tracks)
    paths: list[Path] = []
    known: list[Track] = []
    inferred: list[Inferred] = []
    for track, (path, how) in zip(tracks, files, strict=True):
        paths.append(path)
        is_named = path.name in map(last_part, track.names)
        known.append(
            replace(track, caller=None, agent=None) if track.only_named and not is_named else track
        )
        inferred.append(_inferred(f"/audio/{len(paths) - 1}/file", path.name, how))
        if track.started_by:
            field = f"/audio/{len(paths) - 1}/start_ms"
            inferred.append(_inferred(field, track.start_ms, track.started_by))
    headers = [_header(path, draft) for path in paths]
    counts = [header.channels for header in headers]
    entries, more, exclusion, problems = _mapped(draft, options, known, paths, counts)
    ends = [
        None if header.duration_ms is None else track.start_ms + header.duration_ms
        for track, header in zip(known, headers, strict=True)
    ]
    return Recorded(
        sources=tuple(paths),
        entries=entries,
        exclusion=exclusion,
        duration_ms=None if None in ends else max((end or 0 for end in ends), default=None),
        timing_reasons=_redacted(known, paths),
        inferred=(*inferred, *more),
        problems=problems,
    )


def _redacted(tracks: list[Track], paths: list[Path]) -> tuple[str, ...]:
    """Return why timing is not evaluated where words were cut out of a file: silence is no wait."""
    for track, path in zip(tracks, paths, strict=True):
        whole = {last_part(name) for name in track.names if name not in track.redacted_names}
        if path.name in set(map(last_part, track.redacted_names)) - whole:
            return ("audio_redacted",)
    return ()


def _inferred(field: str, value: object, how: str) -> Inferred:
    return Inferred(field=field, value=value, how=how)


def _first_found(
    draft: Draft, options: ImportOptions, folder: Path, stem: str | None
) -> tuple[tuple[Track, ...], tuple[tuple[Path, str], ...]]:
    """Return the first of what the platform gives that is here, and its files.

    Names that the export gives go before names that are like the call's: a stereo file that is not
    here is no reason to take a mix for it where both sides' own files are.
    """
    offered = (draft.tracks, *draft.other_tracks)
    own = options.recordings is None

    def where(track: Track) -> Path:
        return (track.folder if own else None) or folder

    for tracks in offered if draft.other_tracks else ():
        named = [_named(track, where(track)) for track in tracks]
        if all(path is not None for path in named):
            return tracks, tuple((path, _BY_NAME) for path in named if path is not None)
    missing: list[BundleError] = []
    for tracks in offered:
        try:
            return tracks, tuple(_found(each, draft, where(each), stem) for each in tracks)
        except BundleError as exc:
            if exc.problem.code != "recording_missing":
                raise
            missing.append(exc)
    raise missing[0]


def _only(path: Path, draft: Draft, tracks: tuple[Track, ...]) -> Path:
    if not path.is_file():
        raise BundleError(_missing(draft, f"has no recording: {path.name} is no file"))
    if len(tracks) != 1:
        raise BundleError(
            Problem(
                code="recording_ambiguous",
                call_id=draft.call_id,
                found=f"has {len(tracks)} recordings, and --recordings names one file",
                expected="a folder that holds all of them",
                remedy="name their folder with --recordings",
            )
        )
    return path


def _found(track: Track, draft: Draft, folder: Path, stem: str | None) -> tuple[Path, str]:
    """Return the file of a track in a folder, and how it was known."""
    named = _named(track, folder)
    if named is not None:
        return named, _BY_NAME
    for wanted, how in ((draft.call_id, "the call"), (stem, "the export")):
        fits = [] if wanted is None else _named_like(folder, wanted, track.side)
        if len(fits) > 1:
            raise BundleError(
                Problem(
                    code="recording_ambiguous",
                    call_id=draft.call_id,
                    found=f"has {len(fits)} files named like {how}: "
                    + ", ".join(path.name for path in fits),
                    expected="one",
                    remedy="name the right one with --recordings, or move the others away",
                )
            )
        if fits:
            return fits[0], f"the file named like {how}"
    known = ", ".join(sorted({last_part(name) for name in track.names})) or draft.call_id
    raise BundleError(_missing(draft, f"has no recording in {folder.name or '.'}: no file {known}"))


def _named(track: Track, folder: Path) -> Path | None:
    """Return the file of a name that the export gives."""
    names = (name for name in map(last_part, track.names) if name)
    return next((folder / name for name in names if is_plain_file(folder / name)), None)


def _named_like(folder: Path, stem: str, side: str | None) -> list[Path]:
    """Return the sound files of a name, with the side after it for a side's own file."""
    if last_part(stem) != stem:
        return []
    stems = (stem,) if side is None else (f"{stem}-{side}", f"{stem}_{side}", f"{stem}.{side}")
    return [
        folder / f"{name}{ending}"
        for name in stems
        for ending in _ENDINGS_TRIED
        if is_plain_file(folder / f"{name}{ending}")
    ]


def is_plain_file(path: Path) -> bool:
    """Return whether a path is a regular file and no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def last_part(name: str) -> str:
    r"""Return the file name in a path or address.

    >>> last_part("https://calls.invalid/a/b%20c.wav?token=1"), last_part("C:\\rec\\x.wav")
    ('b%20c.wav', 'x.wav')
    """
    path = re.split(r"[?#]", name, maxsplit=1)[0] if "://" in name else name
    return re.split(r"[/\\]", path)[-1]


def _missing(draft: Draft, found: str) -> Problem:
    return Problem(
        code="recording_missing",
        call_id=draft.call_id,
        found=found,
        expected="the recording on this machine",
        remedy=f"{_HOW}; --no-audio imports the call without timing",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    """What a sound file says of itself; None = it does not tell."""

    channels: int
    duration_ms: int | None


def _header(path: Path, draft: Draft) -> _Header:
    """Return how many channels a recording has, and how long it is.

    A header that libsndfile reads is enough. What decoding could still repair is asked only then:
    the instruments take seconds to load, and there is a process for every worker.
    """
    import soundfile

    try:
        about = soundfile.info(path)
    except (OSError, RuntimeError):
        from inquesto_core.instruments.decode_file import count_channels
    else:
        length_ms = about.frames * 1000 // about.samplerate
        is_told = 0 < length_ms <= MAX_TIME_MS
        return _Header(channels=int(about.channels), duration_ms=length_ms if is_told else None)
    try:
        return _Header(channels=count_channels(path), duration_ms=None)
    except InstrumentError as exc:
        raise BundleError(_unreadable(path, draft, exc.problem.found)) from exc


def _unreadable(path: Path, draft: Draft, found: str) -> Problem:
    remedy = "convert it to WAV or FLAC, keeping its channels"
    kind = _text_kind(path)
    if kind:
        found = f"is no sound: it looks like {kind}, as a failed download leaves"
        remedy = "fetch the recording again: an address may have run out, or ask for a login"
    return Problem(
        code="audio_unreadable",
        call_id=draft.call_id,
        file=path.name,
        found=found,
        expected="a recording that can be decoded (docs/audio.md)",
        remedy=remedy,
    )


def _text_kind(path: Path) -> str:
    """Return what a file is that an address gave instead of sound; empty = not known."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return ""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        return ""
    return {b"<": "a web page or XML", b"{": "a JSON answer"}.get(head[:1], "")


def _mapped(
    draft: Draft,
    options: ImportOptions,
    tracks: list[Track],
    paths: list[Path],
    n_channels: list[int],
) -> tuple[tuple[AudioFile, ...], list[Inferred], Exclusion | None, tuple[Problem, ...]]:
    entries: list[AudioFile] = []
    inferred: list[Inferred] = []
    exclusion: Exclusion | None = None
    problems: tuple[Problem, ...] = ()
    for at, (track, path, count) in enumerate(zip(tracks, paths, n_channels, strict=True)):
        name = (
            f"audio{path.suffix.lower()}" if len(paths) == 1 else f"audio-{at}{path.suffix.lower()}"
        )
        if track.side is not None:
            caller = 0 if track.side == "caller" else None
            agent = 0 if track.side == "agent" else None
            inferred.append(
                _inferred(f"/audio/{at}/channels/{track.side}", 0, f"the {track.side}'s own file")
            )
            if count != 1:
                raise BundleError(_several(draft, path, count, track.side))
        elif count == 1:
            caller = agent = 0
            detail = "the recording mixes both sides in one channel"
            exclusion = Exclusion(reason="mono_recording", detail=detail)
            problems = (_mono(draft, path),)
        else:
            caller, agent, how = _sides(draft, options, track, path, count)
            inferred += [
                _inferred(f"/audio/{at}/channels/caller", caller, how),
                _inferred(f"/audio/{at}/channels/agent", agent, how),
            ]
        entries.append(
            AudioFile(
                file=name,
                caller=caller,
                agent=agent,
                start_ms=track.start_ms,
                duration_ms=track.duration_ms,
                sample_rate_hz=track.sample_rate_hz,
            )
        )
    return tuple(entries), inferred, exclusion, problems


def _sides(
    draft: Draft, options: ImportOptions, track: Track, path: Path, count: int
) -> tuple[int, int, str]:
    """Return the channels of caller and agent in a file of several, and how they are known."""
    caller, agent, how = track.caller, track.agent, track.known_by or ""
    _refuse_beyond(draft, options, path, count)
    if options.caller_channel is not None or options.agent_channel is not None:
        caller, agent, how = (
            options.caller_channel,
            options.agent_channel,
            "said on the command line",
        )
        if count == 2:
            caller = 1 - agent if caller is None and agent is not None else caller
            agent = 1 - caller if agent is None and caller is not None else agent
        if not draft.turns:
            how += UNCHECKED
    if caller is None or agent is None:
        raise BundleError(
            Problem(
                code="channels_unstated",
                call_id=draft.call_id,
                file=path.name,
                found=f"has {count} channels, and nothing says which is the caller's",
                expected="the caller's channel"
                if count == 2
                else "the caller's and the agent's channels",
                remedy=(
                    "listen to it and say --caller-channel 0 or --caller-channel 1"
                    if count == 2
                    else "say --caller-channel and --agent-channel"
                )
                + (f", or {track.ask}" if track.ask else ""),
            )
        )
    if caller == agent or not (0 <= caller < count and 0 <= agent < count):
        raise BundleError(
            Problem(
                code="channels_unstated",
                call_id=draft.call_id,
                file=path.name,
                found=f"has {count} channels; the caller is said to be on {caller}, "
                f"the agent on {agent}",
                expected=f"two different channels from 0 to {count - 1}",
                remedy="correct --caller-channel and --agent-channel",
            )
        )
    return caller, agent, how


def _refuse_beyond(draft: Draft, options: ImportOptions, path: Path, count: int) -> None:
    """Refuse a channel that the file does not have, by the option that names it."""
    said = (
        ("--caller-channel", options.caller_channel),
        ("--agent-channel", options.agent_channel),
    )
    beyond = [f"{option} {at}" for option, at in said if at is not None and at >= count]
    if beyond:
        raise BundleError(
            Problem(
                code="channels_unstated",
                call_id=draft.call_id,
                file=path.name,
                found=f"has {count} channels, and {' and '.join(beyond)} is none of them",
                expected=f"a channel from 0 to {count - 1}",
                remedy="correct " + " and ".join(each.split()[0] for each in beyond),
            )
        )


def _several(draft: Draft, path: Path, count: int, side: str) -> Problem:
    return Problem(
        code="channels_unstated",
        call_id=draft.call_id,
        file=path.name,
        found=f"has {count} channels and is the {side}'s own file",
        expected="one channel",
        remedy="name the file that holds both with --recordings and say --caller-channel",
    )


def _mono(draft: Draft, path: Path) -> Problem:
    return Problem(
        code="mono_input",
        call_id=draft.call_id,
        file=path.name,
        found="has one channel for both sides",
        expected="one channel a side",
        remedy="imported, and excluded from the score as mono_recording: who talks over whom "
        "cannot be told from a mix",
        level="warning",
    )
