"""What one call's parties were heard to say: words and turns, never where nobody spoke.

Each channel is heard alone, and only its accepted speech. A word's times are those of the sound it
was heard in, cut to the speech there; a word whose times hold no speech is kept in the evidence,
with its reason, and is no part of any turn. Times are for display and evidence, never for timing
events.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from inquesto_core.canonical import digest_json
from inquesto_core.evidence.rows import count_words
from inquesto_core.evidence.spoken_words import spoken_words
from inquesto_core.instruments.intervals import covered
from inquesto_core.instruments.transcriber_whisper import WindowWord
from inquesto_core.instruments.transcriber_windows import Window, sound_of, speech_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.intervals import Int
    from inquesto_core.instruments.transcriber_settings import TranscriberSettings
    from inquesto_core.instruments.transcriber_windows import Piece

__all__ = [
    "NO_SPEECH",
    "HeardSide",
    "HeardWord",
    "Transcriber",
    "WindowBackend",
    "WordStore",
    "heard_rows",
    "words_in_speech",
]

Row = dict[str, Any]

#: Why a word is left out: its times hold no speech of its side.
NO_SPEECH = "no_speech"
#: Whisper's step of time: a word said within one has no length in its alignment.
_STEP_MS = 20


class WindowBackend(Protocol):
    """A loaded model."""

    @property
    def build(self) -> str:
        """The libraries that hear, with their versions."""

    def hear_all(self, sounds: Sequence[Samples]) -> tuple[tuple[WindowWord, ...], ...]:
        """Return the words of each sound."""


class WordStore(Protocol):
    """Where the words of a window are kept by its key."""

    def find(self, key: str) -> Row | None:
        """Return what is kept under a key."""

    def keep(self, key: str, answer: Row) -> None:
        """Keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardSide:
    """One side's channel and its speech.

    Parameters
    ----------
    samples : float32 array of shape (n,)
        At 16 kHz, on the call's clock.
    speech, rejected : int64 arrays of shape (n, 2) and (m, 2), ms, sorted
        Accepted and rejected segments.
    """

    samples: Samples
    speech: Int
    rejected: Int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardWord:
    """A word on the call's clock; `dropped` says why it is left out, None = it is not."""

    word: str
    start_ms: int
    end_ms: int
    probability: float
    dropped: str | None


#: What is said in one piece, in order.
Words = tuple[HeardWord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcriber:
    """What hears: a model, its digest, the settings, and where what was heard is kept."""

    backend: WindowBackend
    sha256: str
    settings: TranscriberSettings
    store: WordStore

    def hear(self, side: HeardSide) -> tuple[HeardWord, ...]:
        """Return what one side says, in the order in which it is heard.

        Whisper sometimes passes over a whole sentence of a window. A piece of which too much speech
        has no word is heard once more, alone, and the hearing that gives it more words counts.
        """
        windows = speech_windows(side.samples, side.speech, side.rejected, self.settings)
        found = self._hear(windows, side)
        passed_over = [
            (at, place)
            for at, window in enumerate(windows)
            for place, piece in enumerate(window.pieces)
            if len(window.pieces) > 1
            and _is_passed_over(piece, found[at][place], side.speech, self.settings)
        ]
        alone = [
            Window(pieces=(replace(windows[at].pieces[place], at_ms=0),))
            for at, place in passed_over
        ]
        for (at, place), (again,) in zip(passed_over, self._hear(alone, side), strict=True):
            if _n_said(again) > _n_said(found[at][place]):
                found[at][place] = again
        return tuple(word for window in found for piece in window for word in piece)

    def _hear(self, windows: Sequence[Window], side: HeardSide) -> list[list[Words]]:
        """Return the words of each piece of each window."""
        heard = self._words([sound_of(window, side.samples) for window in windows])
        return [
            words_in_speech(window, words, side.speech)
            for window, words in zip(windows, heard, strict=True)
        ]

    def _words(self, sounds: Sequence[Samples]) -> list[tuple[WindowWord, ...]]:
        """Return each window's words; what is kept is not heard again."""
        keys = [self._key(sound) for sound in sounds]
        found = [self.store.find(key) for key in keys]
        missing = [at for at, row in enumerate(found) if row is None]
        for at, words in zip(
            missing, self.backend.hear_all([sounds[at] for at in missing]), strict=True
        ):
            found[at] = {
                "words": [[w.word, w.start_ms, w.end_ms, w.probability] for w in words],
            }
            self.store.keep(keys[at], found[at] or {})
        return [tuple(_kept_word(*word) for word in row["words"]) for row in found if row]

    def _key(self, sound: Samples) -> str:
        return digest_json(
            {
                "sound": hashlib.sha256(sound.tobytes()).hexdigest(),
                "model": self.sha256,
                "parameters": self.settings.values(),
                "build": self.backend.build,
            }
        )


def _kept_word(word: str, start_ms: int, end_ms: int, probability: float) -> WindowWord:
    return WindowWord(word=word, start_ms=start_ms, end_ms=end_ms, probability=probability)


def _is_passed_over(piece: Piece, words: Words, speech: Int, settings: TranscriberSettings) -> bool:
    """Return whether too much of a piece's speech has no word."""
    spoken = covered(np.clip(speech - piece.start_ms, 0, None), piece.end_ms - piece.start_ms)
    kept = [(w.start_ms, w.end_ms) for w in words if w.dropped is None]
    if not kept:
        return int(spoken.sum()) >= settings.unheard_piece_ms
    said = np.clip(np.array(kept, np.int64) - piece.start_ms, 0, None)
    return int((spoken & ~covered(said, len(spoken))).sum()) >= settings.unheard_ms


def _n_said(words: Words) -> int:
    return len(spoken_words(" ".join(word.word for word in words if word.dropped is None)))


def words_in_speech(window: Window, words: Iterable[WindowWord], speech: Int) -> list[Words]:
    """Return the words of each piece on the call's clock, their times cut to speech they touch.

    A word belongs to the piece that it shares most time with, the first of several.

    Parameters
    ----------
    speech : int64 array of shape (n, 2), ms, sorted
        The channel's accepted segments.
    """
    segments = speech.tolist()
    pieces = window.pieces
    out: list[list[HeardWord]] = [[] for _ in pieces]
    for word in words:
        low, high = word.start_ms, max(word.end_ms, word.start_ms + _STEP_MS)
        shared = [min(p.until_ms, high) - max(p.at_ms, low) for p in pieces]
        place = shared.index(max(shared))
        piece = pieces[place]
        shift = piece.start_ms - piece.at_ms
        start, end = max(low + shift, piece.start_ms), min(high + shift, piece.end_ms)
        touched = [(a, b) for a, b in segments if a < end and start < b]
        if touched:
            start, end = max(start, touched[0][0]), min(end, touched[-1][1])
        else:
            start, end = low + shift, high + shift
        out[place].append(
            HeardWord(
                word=word.word,
                start_ms=start,
                end_ms=end,
                probability=word.probability,
                dropped=None if touched else NO_SPEECH,
            )
        )
    return [tuple(found) for found in out]


def heard_rows(
    call_id: str, heard: Mapping[str, Sequence[HeardWord]], *, turn_pause_ms: int
) -> dict[str, list[Row]]:
    """Return the rows of tables ``asr_turns`` and ``asr_words`` of one call.

    Words of one side are one turn over pauses of at most `turn_pause_ms`, unless the other side
    begins a word in the pause; turns stand in the order in which they begin.

    Parameters
    ----------
    heard : mapping of side to HeardWord
    """
    turns = [
        (speaker, positions)
        for speaker, words in heard.items()
        for positions in _turns(
            words,
            [
                w.start_ms
                for side, ws in heard.items()
                if side != speaker
                for w in ws
                if not w.dropped
            ],
            turn_pause_ms,
        )
    ]
    turns.sort(key=lambda turn: (heard[turn[0]][turn[1][0]].start_ms, turn[0]))
    turn_of = {
        (speaker, position): at
        for at, (speaker, positions) in enumerate(turns)
        for position in positions
    }
    return {
        "asr_turns": [
            _turn_row(call_id, at, speaker, [heard[speaker][position] for position in positions])
            for at, (speaker, positions) in enumerate(turns)
        ],
        "asr_words": [
            {
                "call_id": call_id,
                "speaker": speaker,
                "position": position,
                "turn": turn_of.get((speaker, position)),
                "word": word.word,
                "start_ms": word.start_ms,
                "end_ms": word.end_ms,
                "probability": word.probability,
                "dropped": word.dropped,
            }
            for speaker, words in heard.items()
            for position, word in enumerate(words)
        ],
    }


def _turns(words: Sequence[HeardWord], others_ms: list[int], pause_ms: int) -> list[list[int]]:
    """Return the positions of one side's words, a list a turn."""
    turns: list[list[int]] = []
    for position, word in enumerate(words):
        if word.dropped:
            continue
        before = words[turns[-1][-1]].end_ms if turns else 0
        parted = word.start_ms - before > pause_ms or any(
            before <= at_ms < word.start_ms for at_ms in others_ms
        )
        if not turns or parted:
            turns.append([])
        turns[-1].append(position)
    return turns


def _turn_row(call_id: str, at: int, speaker: str, words: Sequence[HeardWord]) -> Row:
    text = " ".join(word.word for word in words)
    return {
        "call_id": call_id,
        "position": at,
        "speaker": speaker,
        "start_ms": words[0].start_ms,
        "end_ms": max(word.end_ms for word in words),
        "text": text,
        "n_words": count_words(text),
    }
