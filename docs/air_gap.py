"""The commands of docs/air-gapped.md, run as they stand there: each block, in its order.

`python docs/air_gap.py WORK` carries out the whole page: the blocks marked ``connected`` from the
project's top folder, then those marked ``isolated`` in WORK, in a network namespace of their own
(`unshare -rn`), with an empty home and empty caches. `--carry FOLDER` takes a folder that the
connected blocks made before. It prints what each command took, and ends with the first that fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "main", "needs_of"]

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "air-gapped.md"
_BLOCK = re.compile(r"^```sh (?P<marks>[a-z ]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
#: What a block may ask for beside a shell: model files that are too large to be had everywhere.
MODELS = "models"
CARRY = "carry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of the page.

    Parameters
    ----------
    where : {"connected", "isolated"}
    needs_models : bool
        It is about model files that were carried over.
    commands : tuple of str
        One a line.
    """

    where: str
    needs_models: bool
    commands: tuple[str, ...]


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page that are to be run, in order."""
    found = []
    for match in _BLOCK.finditer(text):
        where, *more = match["marks"].split()
        joined = match["text"].replace("\\\n", " ")
        lines = [line.strip() for line in joined.splitlines()]
        commands = tuple(line for line in lines if line and not line.startswith("#"))
        found.append(Block(where=where, needs_models=MODELS in more, commands=commands))
    return found


def needs_of(carry: Path) -> bool:
    """Return whether model files were carried over."""
    return (carry / MODELS).is_dir()


def run(block: Block, *, at: Path, prefix: list[str], environment: dict[str, str]) -> None:
    """Run the commands of a block one by one; end the program with the first that fails."""
    for command in block.commands:
        began = time.monotonic()
        done = subprocess.run(
            [*prefix, "sh", "-euc", command],
            cwd=at,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        took = time.monotonic() - began
        sys.stdout.write(f"{took:7.1f} s  {block.where}  {' '.join(command.split())}\n")
        last = done.stdout.strip().rpartition("\n")[2]
        sys.stdout.write(f"           {last}\n" if last and not done.returncode else "")
        sys.stdout.flush()
        if done.returncode:
            sys.stdout.write(done.stdout[-4000:])
            raise SystemExit(1)


def isolated_environment(home: Path) -> dict[str, str]:
    """Return an environment in which nothing is remembered and nothing leads elsewhere."""
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


def require_isolation(prefix: list[str]) -> None:
    """End the program where a namespace cannot be made, or has a way out."""
    asked = "from pathlib import Path; print(Path('/proc/net/dev').read_text())"
    done = subprocess.run(
        [*prefix, sys.executable, "-c", asked], capture_output=True, text=True, check=False
    )
    devices = {line.split(":")[0].strip() for line in done.stdout.splitlines() if ":" in line}
    if done.returncode or devices - {"lo"}:
        raise SystemExit(f"no network namespace can be made here: {done.stderr.strip() or devices}")


def main() -> int:
    """Run the page."""
    parser = argparse.ArgumentParser(description="Run the commands of docs/air-gapped.md.")
    parser.add_argument("work", type=Path, help="new folder to work in")
    parser.add_argument("--carry", type=Path, help="a folder that the connected blocks made")
    options = parser.parse_args()
    options.work.mkdir(parents=True)
    work = options.work.resolve()
    prefix = ["unshare", "-rn"]
    require_isolation(prefix)
    page = blocks(PAGE.read_text(encoding="utf-8"))
    began = time.monotonic()
    if options.carry is None:
        with_models = "INQUESTO_MODELS" in os.environ
        for block in page:
            if block.where == "connected" and (with_models or not block.needs_models):
                text = tuple(each.replace(CARRY, f"'{work / CARRY}'") for each in block.commands)
                run(
                    Block(where=block.where, needs_models=block.needs_models, commands=text),
                    at=PROJECT,
                    prefix=[],
                    environment=dict(os.environ),
                )
    else:
        shutil.copytree(options.carry, work / CARRY)
    environment = isolated_environment(work / "home")
    for block in page:
        if block.where != "isolated":
            continue
        if block.needs_models and not needs_of(work / CARRY):
            sys.stdout.write(f"   left out, no model was carried: {block.commands[0]}\n")
            continue
        run(block, at=work, prefix=prefix, environment=environment)
    sys.stdout.write(f"{time.monotonic() - began:7.1f} s  all of it\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
