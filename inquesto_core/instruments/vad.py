"""Silero VAD by its pinned sequence model on onnxruntime; torch is never imported.

The model gives one speech probability a frame of 512 samples at 16 kHz, each frame seen with the 64
samples before it; the LSTM state is carried from block to block, so a block's length changes no
bit. The last, partial frame is padded with zeros and decided like the others.

Both channels of a call go through the same weights at once (`vad_forward`), twice as fast. Where a
probability comes so near to one that decides that rounding could turn it, the pinned model itself
hears the channel again: no frame is decided otherwise than it would decide.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.telemetry import forbid_telemetry
from inquesto_core.instruments.vad_forward import Forward
from inquesto_core.instruments.vad_weights import read_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.protocol.definition import VadPin

__all__ = ["SileroVad", "find_model"]

#: Frames a model call: bounds the memory, changes no result.
_BLOCK_FRAMES = 4096
_STATE_SHAPE = (1, 1, 128)
#: Twice the largest difference that rounding has been seen to make between both forward passes.
_ROUNDING = 1e-4


def find_model(pin: VadPin) -> Path:
    """Return the installed model file, its SHA-256 verified.

    Raises
    ------
    InstrumentError
        ``model_missing`` where the package is not installed, ``model_not_pinned`` where the file
        is not the pinned one.
    """
    # find_spec does not run the package, which would import torch.
    spec = importlib.util.find_spec("silero_vad")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    path = Path(folders[0]) / "data" / pin.file if folders else None
    if path is None or not path.is_file():
        raise InstrumentError(
            Problem(
                code="model_missing",
                found=f"{pin.name} {pin.version} is not installed",
                expected=f"its file {pin.file}",
                remedy=f"install silero-vad=={pin.version} without its dependencies",
            )
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != pin.sha256:
        raise InstrumentError(
            Problem(
                code="model_not_pinned",
                file=pin.file,
                found=f"has SHA-256 {found}",
                expected=pin.sha256,
                remedy=f"install silero-vad=={pin.version}",
            )
        )
    return path


class SileroVad:
    """Speech probabilities of 16 kHz sound.

    Parameters
    ----------
    pin : VadPin
        The protocol's pin; the model file must be the pinned one.
    """

    def __init__(self, pin: VadPin) -> None:
        forbid_telemetry()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.pin = pin
        model = find_model(pin)
        self._session: Any = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._forward = Forward(read_weights(model))

    @staticmethod
    def runtime_version() -> str:
        """Return the installed runtime's version, which is part of the pin."""
        return importlib.metadata.version("onnxruntime")

    def probabilities(self, samples: Samples) -> NDArray[np.float32]:
        """Return one probability of speech a frame, by the pinned model on its runtime.

        Parameters
        ----------
        samples : float32 array of shape (n,), 16 kHz

        Returns
        -------
        float32 array of shape (ceil(n / 512),)
        """
        frames = self._frames(samples)
        hidden = np.zeros(_STATE_SHAPE, np.float32)
        cell = np.zeros(_STATE_SHAPE, np.float32)
        out = np.zeros(len(frames), np.float32)
        for first in range(0, len(frames), _BLOCK_FRAMES):
            block = np.ascontiguousarray(frames[first : first + _BLOCK_FRAMES])
            out[first : first + len(block)], hidden, cell = self._session.run(
                None, {"input": block, "h": hidden, "c": cell}
            )
        return out

    def probabilities_of(
        self, channels: Sequence[Samples], *, decided_at: Sequence[float]
    ) -> tuple[NDArray[np.float32], ...]:
        """Return each channel's probabilities; on every side of `decided_at` as the pinned model.

        Parameters
        ----------
        channels : sequence of float32 arrays of shape (n,), 16 kHz, one length
        decided_at : sequence of float
            The probabilities at which a frame is decided.

        Returns
        -------
        tuple of float32 arrays of shape (ceil(n / 512),)
        """
        heard = self._forward.probabilities([self._frames(samples) for samples in channels])
        limits = np.array(decided_at, np.float32)[:, None]
        return tuple(
            self.probabilities(samples) if (np.abs(quick - limits) < _ROUNDING).any() else quick
            for samples, quick in zip(channels, heard, strict=True)
        )

    def _frames(self, samples: Samples) -> NDArray[np.float32]:
        """Return every frame with the samples before it, shape (frames, context + frame)."""
        frame, context = self.pin.frame_samples, self.pin.context_samples
        padded = np.zeros(context - (-len(samples) // frame) * frame, np.float32)
        padded[context : context + len(samples)] = samples
        if len(padded) == context:
            return np.zeros((0, context + frame), np.float32)
        return np.lib.stride_tricks.sliding_window_view(padded, context + frame)[::frame]
