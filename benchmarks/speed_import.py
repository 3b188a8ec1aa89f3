#!/usr/bin/env python3
"""How long a start takes, beside the packages that a start must not load."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
ROUNDS = 7
HEAVY = ("polars", "onnxruntime", "numpy", "scipy", "jsonschema")

#: What is started, as arguments of the interpreter. The first is what all ratios are to.
STARTS = {
    "python": ("-c", "pass"),
    "import inquesto_core": ("-c", "import inquesto_core"),
    "import inquesto_core.protocol": ("-c", "import inquesto_core.protocol"),
    "inquesto-core --help": ("-m", "inquesto_core", "--help"),
    "inquesto-core score --help": ("-m", "inquesto_core", "score", "--help"),
    "import inquesto_core.engine": ("-c", "import inquesto_core.engine"),
    "import polars": ("-c", "import polars"),
    "import onnxruntime": ("-c", "import onnxruntime"),
}


def run(arguments: tuple[str, ...]) -> str:
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def seconds(arguments: tuple[str, ...]) -> float:
    start = time.perf_counter()
    run(arguments)
    return time.perf_counter() - start


def loaded(arguments: tuple[str, ...]) -> list[str]:
    """Return which heavy packages a start loads."""
    if arguments[0] == "-m":
        code = (
            f"import sys; sys.argv = {[arguments[1], *arguments[2:]]!r}\n"
            "from inquesto_core.cli import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
        )
    else:
        code = f"import sys; {arguments[1]}\n"
    told = run(("-c", f"{code}print('\\nloaded', *(set({HEAVY!r}) & set(sys.modules)))"))
    return sorted(told.splitlines()[-1].split()[1:])


def main() -> None:
    took: dict[str, list[float]] = {name: [] for name in STARTS}
    for arguments in STARTS.values():
        seconds(arguments)  # once to fill the disk's cache
    for at in range(ROUNDS):
        names = list(STARTS)
        for name in names[at % len(names) :] + names[: at % len(names)]:
            took[name].append(seconds(STARTS[name]))
    bare = statistics.median(took["python"])
    print(f"{'start':<32}{'median ms':>10}{'least ms':>10}{'x python':>10}  heavy packages loaded")
    for name, values in took.items():
        median = statistics.median(values)
        print(
            f"{name:<32}{1000 * median:>10.0f}{1000 * min(values):>10.0f}{median / bare:>10.1f}  "
            f"{', '.join(loaded(STARTS[name])) or 'none'}"
        )


if __name__ == "__main__":
    main()
