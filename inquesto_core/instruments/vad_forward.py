"""Silero's forward pass in numpy: the pinned weights over many frames and both channels at once.

The runtime takes frame by frame what here is one matrix product over a block of frames; only the
recurrent step goes on one frame at a time. Layers, in the model's order: magnitudes of four
256-sample spectra a frame, four convolutions of width three (the last two see one position alone),
an LSTM of 128 cells, a logistic output. Rounding differs from the runtime's, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import rfft
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["Forward"]

_SPECTRUM, _STEP, _POSITIONS = 256, 128, 4
_BINS = _SPECTRUM // 2 + 1
_CELLS = 128
#: Frames a matrix product: what fits the processor's cache. Part of the result's last bits.
_BLOCK = 256
#: Frames whose gates are kept at a time: bounds the memory, changes no result.
_STRETCH = 16 * _BLOCK


def _taps_first(weight: Array) -> Array:
    """Return a convolution's weights as a matrix, shape (taps * inputs, outputs)."""
    return np.ascontiguousarray(weight.transpose(2, 1, 0).reshape(-1, weight.shape[0]))


class Forward:
    """The forward pass of the model whose weights these are.

    Parameters
    ----------
    weights : mapping of str to float32 array
        The initializers of ``silero_vad_16k_sequence.onnx``.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        # The first row of the spectrum's basis is its window: cos(0) is one.
        self._window = weights["stft.forward_basis_buffer"][0, 0]
        convolutions = [weights[f"encoder.{layer}.weight"] for layer in range(4)]
        self._matrices = (
            _taps_first(convolutions[0]),
            _taps_first(convolutions[1]),
            # Of its three taps the first lies on the zeros before the first position.
            _taps_first(convolutions[2][:, :, 1:]),
            _taps_first(convolutions[3][:, :, 1:2]),
        )
        self._biases = tuple(weights[f"encoder.{layer}.bias"] for layer in range(4))
        # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: halving the gates' rows is exact, and one tanh does.
        halved = np.ones((4 * _CELLS, 1), np.float32)
        halved[: 3 * _CELLS] = 0.5
        bias = weights["onnx::LSTM_211"][0].reshape(2, -1).sum(axis=0)
        self._into_gates = np.ascontiguousarray((weights["onnx::LSTM_209"][0] * halved).T)
        self._gate_bias = bias * halved[:, 0]
        self._recurrent = np.ascontiguousarray(weights["onnx::LSTM_210"][0] * halved)
        self._output = weights["output.weight"][0, :, 0]
        self._output_bias = weights["output.bias"]

    def _gates(self, frames: Array) -> Array:
        """Return what each frame of a block, with its context, adds to the LSTM's gates."""
        count, width = frames.shape
        mirrored = width + _STEP // 2
        sound = np.empty((count, mirrored), np.float32)
        sound[:, :width] = frames
        sound[:, width:] = frames[:, -2 : -2 - _STEP // 2 : -1]
        pieces = np.lib.stride_tricks.sliding_window_view(sound, _SPECTRUM, axis=1)[:, ::_STEP]
        # One position of zeros before and after: what the convolutions see at the edges.
        spectra = np.zeros((count, _POSITIONS + 2, _BINS), np.float32)
        np.abs(rfft(pieces * self._window), out=spectra[:, 1:-1])
        positions = self._layer(0, _three(spectra, step=1))
        padded = np.zeros((count, _POSITIONS + 1, positions.shape[1]), np.float32)
        padded[:, 1:] = positions.reshape(count, _POSITIONS, -1)
        pair = self._layer(1, _three(padded, step=2)).reshape(count, -1)
        last = self._layer(3, self._layer(2, pair))
        return np.asarray(last @ self._into_gates + self._gate_bias)

    def _layer(self, layer: int, rows: Array) -> Array:
        out = rows @ self._matrices[layer]
        out += self._biases[layer]
        return np.asarray(np.maximum(out, 0.0, out=out))

    def probabilities(self, channels: Sequence[Array]) -> Array:
        """Return the speech probability of each frame of each channel.

        Parameters
        ----------
        channels : sequence of float32 arrays of shape (frames, 576)
            Each frame of 512 samples behind the 64 samples before it; all of one length. What one
            channel gives does not depend on the others.

        Returns
        -------
        float32 array of shape (channels, frames)
        """
        many, count = len(channels), len(channels[0])
        hidden = np.zeros((many, _CELLS), np.float32)
        cell = np.zeros((many, _CELLS), np.float32)
        heard = np.empty((many, count), np.float32)
        for start in range(0, count, _STRETCH):
            end = min(start + _STRETCH, count)
            gates = np.empty((end - start, many, 4 * _CELLS), np.float32)
            for index, frames in enumerate(channels):
                for first in range(start, end, _BLOCK):
                    last = min(first + _BLOCK, end)
                    gates[first - start : last - start, index] = self._gates(frames[first:last])
            for index, cells in enumerate(self._remember(gates, hidden, cell)):
                score = np.maximum(cells, 0.0) @ self._output + self._output_bias
                heard[index, start:end] = expit(score)
        return heard

    def _remember(self, gates: Array, hidden: Array, cell: Array) -> Array:
        """Return the LSTM's output, shape (channels, frames, 128); its state goes on in place."""
        out = np.empty((gates.shape[1], gates.shape[0], _CELLS), np.float32)
        now, new = np.empty_like(gates[0]), np.empty_like(cell)
        open_, enter = now[:, : 3 * _CELLS], now[:, :_CELLS]
        leave, keep = now[:, _CELLS : 2 * _CELLS], now[:, 2 * _CELLS : 3 * _CELLS]
        fresh = now[:, 3 * _CELLS :]
        for frame, given in enumerate(gates):
            for index in range(len(hidden)):
                np.dot(self._recurrent, hidden[index], out=now[index])
            now += given
            np.tanh(now, out=now)
            open_ *= 0.5
            open_ += 0.5
            cell *= keep
            np.multiply(enter, fresh, out=new)
            cell += new
            np.tanh(cell, out=new)
            np.multiply(leave, new, out=hidden)
            out[:, frame] = hidden
        return out


def _three(positions: Array, *, step: int) -> Array:
    """Return three neighbouring positions as one row each, every `step`-th of them."""
    count, length, width = positions.shape
    rows = (length - 3) // step + 1
    strides = positions.strides
    view = np.lib.stride_tricks.as_strided(
        positions, (count, rows, 3 * width), (strides[0], strides[1] * step, strides[2])
    )
    return view.reshape(count * rows, 3 * width)
