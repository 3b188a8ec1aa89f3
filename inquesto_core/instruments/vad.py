"""Silero VAD by its pinned sequence model on onnxruntime; torch is never imported.

The model gives one speech probability a frame of 512 samples at 16 kHz, each frame seen with the 64
samples before it; the LSTM state is carried from block to block, so a block's length changes no
bit. The last, partial frame is padded with zeros and decided like the others.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.errors import InstrumentError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.protocol.definition import VadPin

__all__ = ["SileroVad", "find_model"]

#: Frames a model call: bounds the memory, changes no result.
_BLOCK_FRAMES = 4096
_STATE_SHAPE = (1, 1, 128)


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
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.pin = pin
        self._session: Any = onnxruntime.InferenceSession(
            str(find_model(pin)), options, providers=["CPUExecutionProvider"]
        )

    @staticmethod
    def runtime_version() -> str:
        """Return the installed runtime's version, which is part of the pin."""
        return importlib.metadata.version("onnxruntime")

    def probabilities(self, samples: Samples) -> NDArray[np.float32]:
        """Return one probability of speech a frame.

        Parameters
        ----------
        samples : float32 array of shape (n,), 16 kHz

        Returns
        -------
        float32 array of shape (ceil(n / 512),)
        """
        frame, context = self.pin.frame_samples, self.pin.context_samples
        frames = -(-len(samples) // frame)
        hidden = np.zeros(_STATE_SHAPE, np.float32)
        cell = np.zeros(_STATE_SHAPE, np.float32)
        out = np.zeros(frames, np.float32)
        tail = np.zeros(context, np.float32)
        for first in range(0, frames, _BLOCK_FRAMES):
            count = min(_BLOCK_FRAMES, frames - first)
            piece = samples[first * frame : (first + count) * frame]
            block = np.zeros(context + count * frame, np.float32)
            block[:context] = tail
            block[context : context + len(piece)] = piece
            tail = block[-context:].copy()
            windows = np.lib.stride_tricks.sliding_window_view(block, context + frame)[::frame]
            out[first : first + count], hidden, cell = self._session.run(
                None, {"input": np.ascontiguousarray(windows), "h": hidden, "c": cell}
            )
        return out
