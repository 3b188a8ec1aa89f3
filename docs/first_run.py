"""The README's output block: what its first command prints, cut after the events.

`python docs/first_run.py` runs that command and writes the block; a test compares them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["first_command", "readme_block", "run_first_command", "shown"]

PROJECT = Path(__file__).resolve().parents[1]
README = PROJECT / "README.md"
BLOCK = re.compile(r"(?<=^```text\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
CUT = "...\n"


def first_command() -> list[str]:
    """Return the arguments of the README's first command, without its ``--out RUN``."""
    line = re.search(r"^bin/inquesto-core (score .*)$", README.read_text("utf-8"), re.MULTILINE)
    if line is None:
        raise SystemExit("README.md begins with no score command")
    words = shlex.split(line[1])
    out = words.index("--out")
    return [*words[:out], *words[out + 2 :]]


def run_first_command(out: Path) -> str:
    """Return what the README's first command prints on standard output; its run goes to `out`."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "inquesto_core", *first_command(), "--out", str(out)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.decode("utf-8")


def shown(printed: str) -> str:
    """Return what the README shows of it: up to the end of the first record's events."""
    lines = printed.splitlines(keepends=True)
    events = next(at for at, line in enumerate(lines) if line.startswith("Events"))
    end = lines.index("\n", events)
    return "".join(lines[:end]) + CUT


def readme_block() -> str:
    """Return the first output block of the README."""
    found = BLOCK.search(README.read_text("utf-8"))
    if found is None:
        raise SystemExit("README.md has no ```text block")
    return found[0]


def main() -> None:
    """Run the first command, and write what it prints into the README."""
    with tempfile.TemporaryDirectory() as folder:
        block = shown(run_first_command(Path(folder) / "RUN"))
    text = README.read_text("utf-8")
    README.write_text(BLOCK.sub(lambda _: block, text, count=1), "utf-8")


if __name__ == "__main__":
    main()
