"""The small network that reads the features of a frame and says how likely it is the party.

One hidden layer, a few hundred numbers, in a JSON file of the protocol folder, so that the pin of a
protocol covers it; how it was learned stands in `benchmarks/`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem, ProtocolError, SchemaError
from inquesto_core.protocol.layers import read_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    Real = NDArray[np.float64]

__all__ = ["Network", "check_network", "load_network"]

#: Features that are read at a frame alone, not around it (`instruments.foreground_features`).
_AT_THE_FRAME = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """Weights of a network with one hidden layer of rectifiers.

    Parameters
    ----------
    hidden : float64 array of shape (features, units)
    hidden_bias : float64 array of shape (units,)
    output : float64 array of shape (units,)
    output_bias : float
    """

    hidden: Real
    hidden_bias: Real
    output: Real
    output_bias: float

    def evidence(self, rows: Real) -> Real:
        """Return the log odds that each row is the party speaking, shape (rows,)."""
        units = np.maximum(rows @ self.hidden + self.hidden_bias, 0.0)
        return np.asarray(units @ self.output + self.output_bias)


@functools.lru_cache(maxsize=4)
def load_network(path: Path) -> Network:
    """Return the network that a file holds, read once a process.

    Raises
    ------
    ProtocolError
        As `_read_network`.
    """
    return _read_network(path)


def _read_network(path: Path) -> Network:
    """Return the network that a file holds.

    Raises
    ------
    ProtocolError
        ``protocol_unreadable``; ``foreground_network`` where its numbers do not fit together.
    """
    data = read_file(path)
    try:
        row = strict_json(data)
        hidden, output = np.array(row["hidden"], float), np.array(row["output"], float)
        bias = np.array(row["hidden_bias"], float)
        constant = float(row["output_bias"])
    except (KeyError, TypeError, ValueError, SchemaError) as exc:
        raise _unusable(path, f"cannot be read: {exc}") from exc
    if hidden.ndim != 2 or bias.shape != hidden.shape[1:] or output.shape != bias.shape:
        raise _unusable(path, f"has shapes {hidden.shape}, {bias.shape}, {output.shape}")
    return Network(hidden=hidden, hidden_bias=bias, output=output, output_bias=constant)


def check_network(path: Path, features: Mapping[str, Any]) -> None:
    """Raise where the network of a protocol cannot read the features that the protocol names.

    Two features are read at each of ``offsets_ms``, one at every other, the rest at the frame.

    Raises
    ------
    ProtocolError
        ``protocol_unreadable``, ``foreground_network``.
    """
    offsets = len(features["offsets_ms"])
    read, expected = _read_network(path).hidden.shape[0], 2 * offsets + -(-offsets // 2)
    if read != expected + _AT_THE_FRAME:
        raise _unusable(path, f"reads {read} features of a frame, not {expected + _AT_THE_FRAME}")


def _unusable(path: Path, found: str) -> ProtocolError:
    return ProtocolError(
        Problem(
            code="foreground_network",
            file=path.name,
            found=found,
            expected="hidden (features × units), hidden_bias, output (units), output_bias",
            remedy="restore the protocol folder",
        )
    )
