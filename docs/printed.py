"""Hold blocks of the pages to what their commands print now.

A block with ``<!-- printed: inquesto-core … -->`` above it is what that command printed on the
sample calls; ``…`` on a line of its own stands for lines that were left out. A test compares;
`python docs/printed.py` says what differs, and with `--write` puts in what is printed now: of each
piece as many lines as it has, from the first that says something.

Commands run in a folder with RUN (the sample, scored), REPORTED (the same, with stages as a
platform would report them), `costs.csv`, `ann.csv` and FAILURES. What is in these four is made up
here, by rule.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from inquesto_core.canonical import digest_bytes

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

MARKED = re.compile(r"(?ms)^<!-- printed: inquesto-core ([^\n]*) -->\n\n?```text\n(.*?)^```$")
CUT = "…"
#: Failures that FAILURES is cut from.
FAILED = ("steady-021-confirm_payment-telephone", "hasty-028-impostor-dup_charge-telephone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A block of a page, and the command that printed it."""

    page: Path
    line: int
    command: str
    text: str

    def pieces(self) -> list[list[str]]:
        """Return its lines between the ellipses."""
        found: list[list[str]] = [[]]
        for line in self.text.splitlines():
            if line.strip() == CUT:
                found.append([])
            else:
                found[-1].append(line)
        return [piece for piece in found if piece]


def blocks() -> list[Printed]:
    """Return every marked block of the pages."""
    found = []
    for page in sorted([*PROJECT.glob("docs/*.md"), PROJECT / "README.md"]):
        text = page.read_text("utf-8")
        for match in MARKED.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Printed(page=page, line=line, command=match[1], text=match[2]))
    return found


def prepare(folder: Path, run: Path) -> None:
    """Lay down what the commands name, beside a scored sample."""
    from inquesto_core.cli import main
    from inquesto_core.evidence import make_table

    if run != folder / "RUN":
        shutil.copytree(run, folder / "RUN")
    calls = pl.read_parquet(run / "calls.parquet").drop_nulls("call_id").sort("call_id")
    ids = calls["call_id"].to_list()
    rows = ["call_id,cost,currency"]
    for at, name in enumerate(ids):
        base = 210 if name.startswith("steady") else 240
        rows.append(f"{name},{(base + 7 * (at * 5 % 11)) / 1000:.3f},USD")
    (folder / "costs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "ann.csv").write_text(_labels(run), encoding="utf-8")
    reported = folder / "REPORTED"
    shutil.copytree(run, reported)
    stages = make_table("reported_stages", list(_stages(ids)))
    stages.write_parquet(reported / "evidence" / "reported_stages.parquet")
    _tell_manifest(reported, "evidence/reported_stages.parquet")
    source, out = str(PROJECT / "sample_records"), str(folder / "FAILURES")
    command = ["sample", str(run), "--failures", *FAILED, "--source", source, "--out", out]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(command)


def _tell_manifest(run: Path, file: str) -> None:
    """Let the manifest of a run tell a file that was changed."""
    manifest = json.loads((run / "manifest.json").read_bytes())
    for each in manifest["outputs"]:
        if each["file"] == file:
            each["sha256"] = digest_bytes((run / file).read_bytes())
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def _labels(run: Path) -> str:
    """Return the recorded answers of five calls of eight as labels, every ninth turned round."""
    verdicts = pl.read_parquet(run / "evidence" / "verdicts.parquet").sort("call_id", "question")
    names = verdicts["call_id"].unique().sort().to_list()
    drawn = {name for at, name in enumerate(names) if at % 8 < 5}
    rows = ["call_id,question,verdict,labeller,note"]
    told = verdicts.filter(pl.col("call_id").is_in(sorted(drawn))).iter_rows(named=True)
    for at, row in enumerate(told):
        is_turned = row["question"] == "goal_achieved" and at % 9 == 0
        answer = row["verdict"] != is_turned
        rows.append(f"{row['call_id']},{row['question']},{str(answer).lower()},ann,")
    return "\n".join(rows) + "\n"


def _stages(ids: list[str]) -> Iterator[dict[str, object]]:
    base = {"endpointing": (700, 250), "recognition": (90, 90), "model": (210, 190)}
    base["synthesis"] = (110, 100)
    for at, name in enumerate(ids):
        for stage, (steady, hasty) in base.items():
            for position in range(3):
                value_ms = steady if name.startswith("steady") else hasty
                value_ms += 10 * ((at * 7 + position * 3) % 9)
                yield {
                    "call_id": name,
                    "stage": stage,
                    "position": position,
                    "value_ms": value_ms,
                    "origin": "sample platform",
                }


def run_command(command: str, folder: Path) -> str:
    """Return what a command prints on standard output, run in a folder."""
    from inquesto_core.cli import main

    said = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.suppress(SystemExit),
    ):
        main(shlex.split(command))
    return said.getvalue()


def differences(folder: Path) -> Iterator[str]:
    """Yield a line a piece of a block that its command does not print any more."""
    printed: dict[str, list[str]] = {}
    for block in blocks():
        if block.command not in printed:
            printed[block.command] = run_command(block.command, folder).splitlines()
        where = f"{block.page.relative_to(PROJECT)}:{block.line}"
        lines, at = printed[block.command], 0
        for piece in block.pieces():
            found = _place(lines, piece, at)
            if found is None:
                yield f"{where}: `{block.command}` does not print {piece[0]!r} and what follows"
                break
            at = found + len(piece)


def _place(lines: list[str], piece: list[str], start: int) -> int | None:
    """Return where a piece stands in the lines, from a place on."""
    for at in range(start, len(lines) - len(piece) + 1):
        if lines[at : at + len(piece)] == piece:
            return at
    return None


def write(folder: Path) -> None:
    """Put what is printed now into the pages; a piece whose first line is gone stays as it is."""
    for page in {block.page for block in blocks()}:
        text = page.read_text("utf-8")
        page.write_text(MARKED.sub(lambda found: _renewed(found, folder), text), "utf-8")


def _renewed(found: re.Match[str], folder: Path) -> str:
    lines = run_command(found[1], folder).splitlines()
    out, at = [], 0
    for part in re.split(rf"(?m)^( *{CUT})$\n", found[2]):
        piece = part.splitlines()
        first = next((nth for nth, line in enumerate(piece) if line.strip()), None)
        if part.strip() == CUT or first is None or piece[first] not in lines[at:]:
            out += piece
            continue
        at = lines.index(piece[first], at) - first
        out += lines[at : at + len(piece)]
        at += len(piece)
    return found[0].replace(found[2], "".join(f"{line}\n" for line in out))


def main() -> int:
    """Score the sample, run the commands, and say or write what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put what is printed into the pages")
    parser.add_argument("--run", type=Path, help="a scored sample; default: score it")
    given = parser.parse_args()
    os.environ.setdefault("COLUMNS", "80")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = given.run
        if run is None:
            run = folder / "RUN"
            score = f"score {PROJECT / 'sample_records'} --out RUN --judge recorded"
            with contextlib.redirect_stderr(io.StringIO()):
                run_command(score, folder)
        prepare(folder, run.resolve())
        if given.write:
            write(folder)
        wrong = list(differences(folder))
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
