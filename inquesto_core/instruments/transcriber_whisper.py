"""Whisper through faster-whisper: the only module that imports it, and late.

A window is encoded once and decoded once, at temperature 0, without what was said before it, and
the words are then aligned with the sound. The library's own `transcribe` goes over the rest of a
window again after its last word, guesses anew at higher temperatures, and leaves out what it takes
for silence; what is heard here depends on the window alone.
"""

from __future__ import annotations

import importlib.metadata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.telemetry import forbid_telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.transcriber_settings import TranscriberSettings

__all__ = ["WhisperTranscriber", "WindowWord", "library_versions"]

_LIBRARIES = ("faster-whisper", "ctranslate2", "tokenizers")
#: Marks that Whisper joins to the word after them, and to the word before them.
_BEFORE, _AFTER = "\"'“¿([{-", "\"'.。,，!！?？:：”)]}、"
#: Whisper's own list of what is never speech.
_NON_SPEECH = [-1]
#: Characters of a library's own words about a file.
_SHOWN = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowWord:
    """A word, and when in its window it was said."""

    word: str
    start_ms: int
    end_ms: int
    probability: float


class WhisperTranscriber:
    """A loaded Whisper model that hears windows, each alone and on one thread.

    Parameters
    ----------
    folder : Path
        A CTranslate2 conversion with its tokenizer; nothing is looked for elsewhere.
    settings : TranscriberSettings
    at_once : int
        How many windows are heard at the same time; changes no word.

    Raises
    ------
    InstrumentError
        ``extra_missing``, ``model_unreadable``.
    """

    def __init__(self, folder: Path, *, settings: TranscriberSettings, at_once: int = 1) -> None:
        self._settings = settings
        self._at_once = at_once
        self._model, self._tokenizer, self._suppressed = _load(folder, settings, at_once)

    @property
    def build(self) -> str:
        """The libraries that hear, with their versions."""
        return library_versions()

    def hear_all(self, sounds: Sequence[Samples]) -> tuple[tuple[WindowWord, ...], ...]:
        """Return the words of each window, in the order of `sounds`."""
        with ThreadPoolExecutor(self._at_once) as pool:
            return tuple(pool.map(self.hear, sounds))

    def hear(self, sound: Samples) -> tuple[WindowWord, ...]:
        """Return the words of a window of at most 30 s, in order.

        Parameters
        ----------
        sound : float32 array of shape (n,)
            At 16 kHz.
        """
        from faster_whisper.audio import pad_or_trim
        from faster_whisper.transcribe import merge_punctuations

        model, settings = self._model, self._settings
        features = model.feature_extractor(sound)[..., :-1]
        encoded = model.encode(pad_or_trim(features))
        prompt = model.get_prompt(self._tokenizer, [], without_timestamps=True)
        (result,) = model.model.generate(
            encoded,
            [prompt],
            beam_size=settings.beam_size,
            sampling_temperature=0,
            max_length=len(prompt) + settings.max_tokens,
            suppress_blank=True,
            suppress_tokens=self._suppressed,
        )
        tokens = [token for token in result.sequences_ids[0] if token < self._tokenizer.eot]
        if not tokens:
            return ()
        frames = min(features.shape[-1], model.feature_extractor.nb_max_frames)
        (rows,) = model.find_alignment(self._tokenizer, [tokens], encoded, frames)
        merge_punctuations(rows, _BEFORE, _AFTER)
        return _words(rows)


def _load(
    folder: Path, settings: TranscriberSettings, at_once: int
) -> tuple[Any, Any, tuple[int, ...]]:
    """Return model, tokenizer, and the tokens that are never speech."""
    try:
        forbid_telemetry()
        from faster_whisper import WhisperModel
        from faster_whisper.tokenizer import Tokenizer
        from faster_whisper.transcribe import get_suppressed_tokens
    except ImportError as exc:
        raise InstrumentError(
            Problem(
                code="extra_missing",
                found="faster-whisper is not installed",
                expected="the extra `asr`",
                remedy="pip install 'inquesto-core[asr]'",
            )
        ) from exc
    try:
        model = WhisperModel(
            str(folder),
            device="cpu",
            compute_type=settings.compute_type,
            cpu_threads=1,
            num_workers=at_once,
            local_files_only=True,
        )
    except (RuntimeError, ValueError) as exc:
        raise InstrumentError(
            Problem(
                code="model_unreadable",
                file=folder.name,
                found=f"cannot be loaded by faster-whisper ({_readable(exc)})",
                expected="a Whisper model converted for CTranslate2",
                remedy="use another folder",
            )
        ) from exc
    tokenizer = Tokenizer(
        model.hf_tokenizer,
        model.model.is_multilingual,
        task="transcribe",
        language=settings.language,
    )
    return model, tokenizer, get_suppressed_tokens(tokenizer, _NON_SPEECH)


def _readable(error: Exception) -> str:
    """Return what a library says of a file, without the file's own bytes."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(error))
    return " ".join(text.encode("ascii", "replace").decode().split())[:_SHOWN]


def _words(rows: Sequence[Mapping[str, Any]]) -> tuple[WindowWord, ...]:
    """Return words between white space: what Whisper cuts apart inside one is joined again."""
    words: list[WindowWord] = []
    for row in rows:
        text = str(row["word"])
        if not text.strip():
            continue
        word = WindowWord(
            word=text.strip(),
            start_ms=round(1000 * float(row["start"])),
            end_ms=round(1000 * float(row["end"])),
            probability=float(row["probability"]),
        )
        if words and not text[0].isspace():
            before = words.pop()
            word = WindowWord(
                word=before.word + word.word,
                start_ms=before.start_ms,
                end_ms=word.end_ms,
                probability=min(before.probability, word.probability),
            )
        words.append(word)
    return tuple(words)


def library_versions() -> str:
    """Return the versions of what hears.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        Where the extra is not installed.
    """
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES)
