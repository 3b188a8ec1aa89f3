"""Which class of processor this is: what instruments round alike on."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["cpu_class"]

#: Instruction sets that numerical libraries choose their code by, the widest first.
_WIDEST_FIRST = ("avx512f", "avx2", "avx", "sve", "asimd")


def cpu_class() -> str:
    """Return the machine and its widest vector instructions, such as ``x86_64 avx2``.

    Where the system does not tell the instructions, the machine alone.
    """
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").lower()
    except OSError:
        return platform.machine()
    flags = {
        flag
        for line in said.splitlines()
        if line.startswith(("flags", "features"))
        for flag in line.partition(":")[2].split()
    }
    widest = next((name for name in _WIDEST_FIRST if name in flags), None)
    return platform.machine() if widest is None else f"{platform.machine()} {widest}"
