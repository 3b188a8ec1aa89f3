"""The files of a Whisper folder, by digest: each of them can move a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.model_files import digest_of_file

if TYPE_CHECKING:
    from pathlib import Path

    from inquesto_core.instruments.transcriber_settings import TranscriberSettings
    from inquesto_core.protocol.definition import AsrPin

__all__ = ["WhisperFiles", "whisper_files"]

_MODEL, _CONFIG, _TOKENIZER = "model.bin", "config.json", "tokenizer.json"
_VOCABULARIES = ("vocabulary.txt", "vocabulary.json")
#: A file that a conversion may have, and that the pinned one has not.
_FEATURES = "preprocessor_config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhisperFiles:
    """The SHA-256 of each file of a folder; `features` is None where it has no such file."""

    model: str
    config: str
    tokenizer: str
    vocabulary: str
    features: str | None

    def are_pinned(self, pin: AsrPin, settings: TranscriberSettings) -> bool:
        """Return whether every file is the one that the protocol pins."""
        return self == WhisperFiles(
            model=pin.sha256,
            config=settings.config_sha256,
            tokenizer=settings.tokenizer_sha256,
            vocabulary=settings.vocabulary_sha256,
            features=None,
        )


def whisper_files(folder: Path) -> WhisperFiles:
    """Return the digests of the files of a Whisper folder.

    Raises
    ------
    InstrumentError
        ``model_missing``, ``model_unreadable``.
    """
    names = [_MODEL, _CONFIG, _TOKENIZER]
    vocabulary = next((name for name in _VOCABULARIES if (folder / name).is_file()), None)
    lacking = [name for name in names if not (folder / name).is_file()]
    if lacking or vocabulary is None:
        missing = lacking + ([] if vocabulary else [_VOCABULARIES[0]])
        raise InstrumentError(
            Problem(
                code="model_missing",
                file=folder.name,
                found=f"holds no {', '.join(missing)}",
                expected="a folder with a Whisper model converted for CTranslate2",
                remedy="check the path behind folder:",
            )
        )
    model, config, tokenizer = (digest_of_file(folder / name) for name in names)
    features = folder / _FEATURES
    return WhisperFiles(
        model=model,
        config=config,
        tokenizer=tokenizer,
        vocabulary=digest_of_file(folder / vocabulary),
        features=digest_of_file(features) if features.is_file() else None,
    )
