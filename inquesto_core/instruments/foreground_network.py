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

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Real = NDArray[np.float64]

__all__ = ["Network", "load_network"]


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
    """Return the network that a file holds, read once.

    Raises
    ------
    ProtocolError
        ``foreground_network`` where the file is missing or its numbers do not fit together.
    """
    try:
        row = strict_json(path.read_bytes())
        hidden, output = np.array(row["hidden"], float), np.array(row["output"], float)
        bias = np.array(row["hidden_bias"], float)
        constant = float(row["output_bias"])
    except (OSError, KeyError, TypeError, ValueError, SchemaError) as exc:
        raise _unusable(path, f"cannot be read: {exc}") from exc
    if hidden.ndim != 2 or bias.shape != hidden.shape[1:] or output.shape != bias.shape:
        raise _unusable(path, f"has shapes {hidden.shape}, {bias.shape}, {output.shape}")
    return Network(hidden=hidden, hidden_bias=bias, output=output, output_bias=constant)


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
