"""The weights of the pinned VAD, read out of its ONNX file.

An ONNX file is a protocol buffer; of its fields only the graph's float32 initializers are read,
each by its name. The file is known by its SHA-256, so nothing else has to be understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.errors import InstrumentError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_weights"]

#: Field numbers of onnx.proto: ModelProto.graph, GraphProto.initializer, TensorProto's.
_GRAPH, _INITIALIZER = 7, 5
_DIMS, _NAME, _RAW_DATA = 1, 8, 9
#: Wire types of protocol buffers.
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
    """Yield number, integer and bytes of each field of a message; one of the two is empty."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value, data[:0]
            continue
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(wire)
        if size is None:
            size, at = _varint(data, at)
        yield number, 0, data[at : at + size]
        at += size


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the float32 initializers of an ONNX file by name.

    Raises
    ------
    InstrumentError
        ``model_unreadable`` where the file is no ONNX model.
    """
    weights = {}
    try:
        for number, _, graph in _fields(memoryview(path.read_bytes())):
            for part, _, tensor in _fields(graph) if number == _GRAPH else ():
                if part != _INITIALIZER:
                    continue
                shape, name, raw = [], "", tensor[:0]
                for what, value, content in _fields(tensor):
                    if what == _DIMS:
                        shape.append(value)
                    elif what == _NAME:
                        name = bytes(content).decode()
                    elif what == _RAW_DATA:
                        raw = content
                weights[name] = np.frombuffer(raw, "<f4").astype(np.float32).reshape(shape)
    except (IndexError, ValueError) as exc:
        raise InstrumentError(
            Problem(
                code="model_unreadable",
                file=path.name,
                found=f"is no ONNX model: {type(exc).__name__}",
                expected="the pinned file",
            )
        ) from exc
    return weights
