"""The array types that instruments hand to each other."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Samples"]

#: float32, shape (n,), one channel; full scale is 1.0.
Samples: TypeAlias = NDArray[np.float32]
