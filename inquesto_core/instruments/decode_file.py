"""One recording file to its wanted channels at 16 kHz, in one pass, whatever codec it has.

What is refused is an `InstrumentError`; what could be read around is a warning beside the result.
Memory holds the wanted channels at 16 kHz and one block of the file.
"""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.meter import ChannelMeter
from inquesto_core.instruments.mp3_repair import info_frame_splice
from inquesto_core.instruments.ogg_pages import OggPages, read_ogg_pages
from inquesto_core.instruments.resample import Resampler
from inquesto_core.instruments.spliced_file import Splice, SplicedFile
from inquesto_core.instruments.wav_repair import WavSizes, read_wav_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.media_limits import MediaLimits

__all__ = ["DecodedChannel", "DecodedFile", "count_channels", "decode_file"]

_BLOCK_SAMPLES = 1 << 17
#: libsndfile's frame count where a FLAC does not state its own.
_UNKNOWN_LENGTH = 1 << 62
_HEADERLESS = frozenset(
    {".al", ".alaw", ".g711", ".gsm", ".pcm", ".pcma", ".pcmu", ".raw", ".ul", ".ulaw", ".vox"}
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecodedChannel:
    """One channel: its sound, mean removed, and what was measured on the native samples."""

    samples: Samples
    index: int
    dc_offset: float
    peak_dbfs: float | None
    clipped_fraction: float
    full_scale_frames: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecodedFile:
    """The wanted channels of a file in the order asked for, and what the file is.

    Parameters
    ----------
    missing_ms : int or None
        Sound that the file promises and does not hold; None = some, nobody knows how much.
    lost : tuple of str
        Codes of the problems by which more sound is lost or doubtful than is tolerated.
    """

    channels: tuple[DecodedChannel, ...]
    format: str
    codec: str
    sample_rate_hz: int
    frames: int
    missing_ms: int | None
    lost: tuple[str, ...]
    problems: tuple[Problem, ...]


class _ForwardFile(soundfile.SoundFile):  # type: ignore[misc]  # soundfile has no types
    """A file read from start to end.

    soundfile seeks after each read of a seekable file. In an MP3 that moves and garbles what comes
    next, in a FLAC of unstated length it fails.
    """

    def seekable(self) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    sound: _ForwardFile
    wav: WavSizes | None
    ogg: OggPages | None


def count_channels(path: Path) -> int:
    """Return how many channels a file has; raises InstrumentError where it cannot be read."""
    with _open(path) as opened:
        return int(opened.sound.channels)


def decode_file(path: Path, indices: Sequence[int], limits: MediaLimits) -> DecodedFile:
    """Return the channels `indices` of a file at 16 kHz.

    Parameters
    ----------
    path : Path
        The file; it is opened for reading only and never written.
    indices : sequence of int
        0-based channels that are wanted.
    limits : MediaLimits

    Raises
    ------
    InstrumentError
        With the code ``audio_unreadable``, ``audio_empty``, ``audio_too_long``, ``bad_samples``,
        ``channel_missing`` or ``sample_rate_unsupported``.
    """
    with _open(path) as opened:
        sound = opened.sound
        _refuse_by_header(sound, indices, limits)
        frames, channels, error = _decode(sound, indices, limits)
        if frames == 0:
            raise _empty("holds no sound" if error is None else f"holds no sound: {error}")
        missing_ms, problems, lost = _losses(opened, frames, error, limits)
        return DecodedFile(
            channels=channels,
            format=sound.format,
            codec=sound.subtype,
            sample_rate_hz=sound.samplerate,
            frames=frames,
            missing_ms=missing_ms,
            lost=lost,
            problems=(*problems, *_full_scale_runs(channels, sound.samplerate)),
        )


def _decode(
    sound: _ForwardFile, indices: Sequence[int], limits: MediaLimits
) -> tuple[int, tuple[DecodedChannel, ...], str | None]:
    """Return the frames there are, the wanted channels, and libsndfile's word if it gave up."""
    rate = sound.samplerate
    meters = [
        ChannelMeter(sample_rate_hz=rate, codec=sound.subtype, limits=limits) for _ in indices
    ]
    resamplers = [Resampler(rate, sound.frames) for _ in indices]
    frames, error = 0, None
    for block, failed in _blocks(sound):
        frames, error = frames + len(block), failed
        if frames * 1000 // rate >= limits.max_duration_ms:
            raise _too_long(f"goes on past {frames * 1000 // rate} ms", limits)
        for index, meter, resampler in zip(indices, meters, resamplers, strict=True):
            resampler.push(meter.pass_on(np.ascontiguousarray(block[:, index])))
            if meter.first_bad_frame is not None:
                raise _bad_sample(meter.first_bad_frame, index)
    channels = tuple(
        _finish(index, meter, resampler)
        for index, meter, resampler in zip(indices, meters, resamplers, strict=True)
    )
    return frames, channels, error


@contextmanager
def _open(path: Path) -> Iterator[_Opened]:
    try:
        # No path reaches libsndfile: it would read some endings as headerless samples.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        raise _unreadable(f"cannot be opened: {exc.strerror}", path) from exc
    try:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode):
            raise _unreadable("is no file", path)
        if state.st_size == 0:
            raise _empty("is empty")
        wav = read_wav_sizes(fd, state.st_size)
        if wav is not None and wav.present_bytes == 0:
            raise _empty("ends where its sound should begin")
        with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as data:
            ogg = read_ogg_pages(data)
            splice = wav.splice if wav else info_frame_splice(data)
        with _sound_file(fd, state.st_size, splice, path) as sound:
            yield _Opened(sound=sound, wav=wav, ogg=ogg)
    finally:
        os.close(fd)


def _sound_file(fd: int, size: int, splice: Splice | None, path: Path) -> _ForwardFile:
    source = fd if splice is None else SplicedFile(fd, size, splice)
    try:
        return _ForwardFile(source, closefd=False)
    except soundfile.LibsndfileError as exc:
        raise _unreadable(f"is not read: {_first_sentence(exc)}", path, fd) from exc


def _blocks(sound: _ForwardFile) -> Iterator[tuple[Samples, str | None]]:
    """Yield blocks of shape (frames, channels), and with the last one why it is the last."""
    size = max(1, _BLOCK_SAMPLES // sound.channels)
    block = np.empty((size, sound.channels), dtype=np.float32)
    while True:
        # An error leaves what was decoded before it in the block, without saying how much.
        block.fill(np.nan)
        try:
            read = sound.read(out=block)
        except soundfile.LibsndfileError as exc:
            filled = np.flatnonzero(~np.isnan(block).all(axis=1))
            yield block[: int(filled[-1]) + 1 if filled.size else 0], _first_sentence(exc)
            return
        if len(read):
            yield read, None
        if len(read) < size:
            return


def _refuse_by_header(sound: _ForwardFile, indices: Sequence[int], limits: MediaLimits) -> None:
    rate = sound.samplerate
    if not limits.min_sample_rate_hz <= rate <= limits.max_sample_rate_hz:
        raise InstrumentError(
            Problem(
                code="sample_rate_unsupported",
                found=f"has a sample rate of {rate} Hz",
                expected=f"{limits.min_sample_rate_hz} to {limits.max_sample_rate_hz} Hz",
                remedy="state the rate at which it was recorded",
            )
        )
    beyond = [index for index in indices if not 0 <= index < sound.channels]
    if beyond:
        raise InstrumentError(
            Problem(
                code="channel_missing",
                found=f"has {sound.channels} channels and none with the index {beyond[0]}",
                expected=f"an index from 0 to {sound.channels - 1}",
                remedy="correct the channel map in call.json",
            )
        )
    promised_ms = sound.frames * 1000 // rate
    if sound.frames < _UNKNOWN_LENGTH and promised_ms >= limits.max_duration_ms:
        raise _too_long(f"says that it lasts {promised_ms} ms", limits)


def _losses(
    opened: _Opened, frames: int, error: str | None, limits: MediaLimits
) -> tuple[int | None, list[Problem], tuple[str, ...]]:
    """Return the missing milliseconds, the warnings about it, and the codes that matter."""
    rate, promised = opened.sound.samplerate, opened.sound.frames
    missing_ms: int | None = 0
    problems: list[Problem] = []
    lost: list[str] = []
    if opened.wav is not None and opened.wav.kind != "as_promised":
        missing_ms = opened.wav.difference_ms if opened.wav.kind == "truncated" else 0
        problems.append(_wav_warning(opened.wav))
        if opened.wav.difference_ms > limits.tolerated_missing_ms:
            lost.append(problems[-1].code)
    elif opened.ogg is not None and opened.ogg.is_cut:
        missing_ms = None
        problems.append(_truncated("ends inside a page; nobody knows how much is missing"))
        lost.append("audio_truncated")
    elif error is not None and promised >= _UNKNOWN_LENGTH:
        missing_ms = None
        problems.append(_truncated(f"breaks off ({error}); nobody knows how much is missing"))
        lost.append("audio_truncated")
    elif frames < promised < _UNKNOWN_LENGTH:
        missing_ms = promised * 1000 // rate - frames * 1000 // rate
        reason = f" ({error})" if error else ""
        problems.append(_truncated(f"lacks its last {missing_ms / 1000:.3f} s{reason}"))
        if missing_ms > limits.tolerated_missing_ms:
            lost.append("audio_truncated")
    if opened.ogg is not None and not opened.ogg.is_cut and not opened.ogg.has_end:
        problems.append(
            _warning(
                "ogg_unfinished",
                "has no last page: its writer did not close it",
                "a stream that says where it ends",
            )
        )
    if opened.ogg is not None and opened.ogg.n_gaps:
        problems.append(
            _warning(
                "audio_damaged",
                f"lacks pages in {opened.ogg.n_gaps} places; what follows may come early",
                "every page in its order",
            )
        )
        lost.append("audio_damaged")
    return missing_ms, problems, tuple(lost)


def _wav_warning(sizes: WavSizes) -> Problem:
    seconds = f"{sizes.difference_ms / 1000:.3f} s"
    if sizes.kind == "truncated":
        found = f"lacks its last {seconds}: the header promises more than the file holds"
        return _warning("wav_truncated", found, "all of the recording")
    if sizes.kind == "trailing":
        found = f"goes on for {seconds} after the sound that its header promises; that is not read"
        return _warning("wav_trailing_bytes", found, "a header with the final size")
    found = "has a placeholder for its size; it is read to its end"
    return _warning("wav_size_placeholder", found, "a header with the final size")


def _finish(index: int, meter: ChannelMeter, resampler: Resampler) -> DecodedChannel:
    resampler.push(meter.rest())
    samples = resampler.finish()
    samples -= np.float32(meter.mean)
    return DecodedChannel(
        samples=samples,
        index=index,
        dc_offset=meter.mean,
        peak_dbfs=meter.peak_dbfs,
        clipped_fraction=meter.clipped_fraction,
        full_scale_frames=meter.full_scale_frames,
    )


def _full_scale_runs(channels: Sequence[DecodedChannel], rate: int) -> list[Problem]:
    return [
        _warning(
            "full_scale_run",
            f"holds {channel.full_scale_frames * 1000 // rate} ms of one full-scale value on "
            f"channel {channel.index}; taken as silence",
            "gaps filled with the codec's silence (0xFF in mu-law)",
        )
        for channel in channels
        if channel.full_scale_frames
    ]


def _unreadable(found: str, path: Path, fd: int | None = None) -> InstrumentError:
    head = b"" if fd is None else os.pread(fd, 12, 0)
    remedy = "convert it to FLAC or WAV"
    if head[4:8] == b"ftyp" or head[:4] == b"\x1aE\xdf\xa3":
        remedy = "MP4 and WebM are not read here; convert it to FLAC or WAV, both channels kept"
    elif path.suffix.lower() in _HEADERLESS:
        remedy = "samples without a header say neither codec nor rate: wrap them in a WAV that does"
    return InstrumentError(
        Problem(
            code="audio_unreadable",
            found=found,
            expected="WAV, FLAC, Ogg (Vorbis, Opus), MP3, or another file that libsndfile reads",
            remedy=remedy,
        )
    )


def _empty(found: str) -> InstrumentError:
    return InstrumentError(
        Problem(code="audio_empty", found=found, expected="at least one frame of sound")
    )


def _too_long(found: str, limits: MediaLimits) -> InstrumentError:
    return InstrumentError(
        Problem(
            code="audio_too_long",
            found=found,
            expected=f"less than {limits.max_duration_ms} ms",
            remedy="cut the recording to the call",
        )
    )


def _bad_sample(frame: int, index: int) -> InstrumentError:
    return InstrumentError(
        Problem(
            code="bad_samples",
            found=f"has a sample that is no sound: frame {frame} of channel {index}",
            expected="finite samples within full scale or near it",
            remedy="export the recording again",
        )
    )


def _truncated(found: str) -> Problem:
    return _warning("audio_truncated", found, "all of the recording")


def _warning(code: str, found: str, expected: str) -> Problem:
    return Problem(code=code, found=found, expected=expected, level="warning")


def _first_sentence(exc: soundfile.LibsndfileError) -> str:
    return str(exc.error_string).removeprefix("Error : ").split(". ")[0].rstrip(".")[:120]
