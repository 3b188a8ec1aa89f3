"""What the protocol pins of the transcriber beside its files: all else that can move a word."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import AsrPin

__all__ = ["TranscriberSettings", "transcriber_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriberSettings:
    """The transcriber's parameters.

    Parameters
    ----------
    library_version, runtime, runtime_version : str
        The pinned build; another is used only if the result says so.
    config_sha256, tokenizer_sha256, vocabulary_sha256 : str
        The files beside the model.
    compute_type : str
        CTranslate2's name of the arithmetic.
    language : str
        Whisper's code of the language that is spoken; never guessed.
    beam_size : int
        1: greedy. The temperature is always 0.
    max_tokens : int
        Most tokens of one window's text.
    window_ms : int
        Longest stretch of sound that is heard at once (inclusive).
    pad_ms : int
        Sound beside a segment that is heard with it, up to the next rejected segment.
    gap_ms : int
        Longest silence between two pieces of speech in a window; more is left out.
    cut_search_ms : int
        How far before the end of a full window a quiet place is looked for, to cut speech at that
        does not pause.
    unheard_ms, unheard_piece_ms : int
        A piece of a window is heard again, alone, where so much of its speech has no word, or
        where it has that much speech and no word at all (both inclusive).
    turn_pause_ms : int
        Words of one side at most this far apart are one turn, if the other says nothing between.
    """

    library_version: str
    runtime: str
    runtime_version: str
    config_sha256: str
    tokenizer_sha256: str
    vocabulary_sha256: str
    compute_type: str
    language: str
    beam_size: int
    max_tokens: int
    window_ms: int
    pad_ms: int
    gap_ms: int
    cut_search_ms: int
    unheard_ms: int
    unheard_piece_ms: int
    turn_pause_ms: int

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return asdict(self)


def transcriber_settings(pin: AsrPin) -> TranscriberSettings:
    """Return the pin's parameters as settings."""
    return TranscriberSettings(**pin.parameters)  # type: ignore[arg-type]
