"""One case: files are laid out, one is changed, one command reads it, and what must hold is asked.

What must hold, whatever the file is:

- the command ends by itself, with an exit code of the contract, and never with a traceback;
- a command that refuses says why, in a line with a code that docs/problems.md lists and with what
  was expected;
- no text of the file reaches the terminal as a control or a bidirectional character;
- nothing is written, changed or taken away outside of what the command was given to write;
- each call that was given is in one state of the record, or is named;
- a sealed run of which a file was changed does not verify.

Processor time and memory are watched from outside (`fuzz`), as a hung or killed process cannot.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import stat
import sys
import tempfile
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz_base import PROJECT
from fuzz_mutations import mutated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzz_kinds import Kind

__all__ = ["Outcome", "run_case"]

#: 5 is for a disk or an error of the engine's own: no input may bring it about.
_CODES = frozenset({0, 1, 2, 3, 4})
#: Commands that read only: a gate or a verification that fails is theirs alone.
_MAY_FAIL = frozenset({"verify", "compare", "seal", "store"})
_CODED = re.compile(r"\[(?P<code>[a-z0-9_]+)\]\s*$")
_LINE_LIMIT = 4000
_FORMAT = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a case.

    Parameters
    ----------
    what : str
        The file, and the command line.
    code : int or None
        Exit code; None where it never ended.
    problem : str or None
        The code of the refusal.
    faults : tuple of str
        What did not hold.
    """

    what: str
    code: int | None
    problem: str | None
    faults: tuple[str, ...]


def _known_codes() -> frozenset[str]:
    text = (PROJECT / "docs/problems.md").read_text(encoding="utf-8")
    return frozenset(
        code
        for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
        for code in re.findall(r"`([a-z0-9_]+)`", row)
    )


def _lay_out(base: Path, case: Path, kind: Kind) -> None:
    for name in kind.needs:
        shutil.copytree(base / name, case / "in" / name, symlinks=True)
    for name in ("out", "tmp"):
        (case / name).mkdir()
    (case / "secret.txt").write_text("outside-marker", encoding="utf-8")


def _chosen(rng: random.Random, case: Path, kind: Kind) -> tuple[Path, str]:
    pattern, form = rng.choice(kind.files)
    found = sorted(path for path in (case / "in").glob(pattern) if path.is_file())
    return rng.choice(found), form


#: What may lie in a file's place; the first only where no command waits for it.
_WAYS = ("pipe", "link", "link_out", "link_to_itself", "folder", "gone")


def _replace(rng: random.Random, path: Path, form: str, *, is_named: bool) -> str:
    """Change what lies at a path; return what was done.

    A pipe that the command line itself names is waited for, as a shell's ``<(...)`` needs it.
    """
    chance = rng.random()
    if chance < 0.03:
        way = rng.choice(_WAYS[is_named:])
        data = path.read_bytes()
        path.unlink()
        if way == "link":
            path.with_name("elsewhere").write_bytes(data)
            path.symlink_to("elsewhere")
        elif way == "link_out":
            path.symlink_to(path.parents[len(path.parents) - 1] / "etc" / "hostname")
        elif way == "link_to_itself":
            path.symlink_to(path.name)
        elif way == "folder":
            path.mkdir()
        elif way == "pipe":
            os.mkfifo(path)
        return way
    data = path.read_bytes()
    for _ in range(50):
        try:
            new = mutated(rng, data, form)
        except (TypeError, KeyError, IndexError, ValueError, RecursionError):
            continue  # a second change met what the first had left
        if new != data:
            path.write_bytes(new)
            return f"{len(data)} -> {len(new)} bytes"
    path.write_bytes(b"")
    return "emptied"


def _snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    out: dict[str, tuple[int, int, int]] = {}
    for home, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(home) / name
            told = path.lstat()
            changed = 0 if stat.S_ISDIR(told.st_mode) else told.st_mtime_ns
            size = 0 if stat.S_ISDIR(told.st_mode) else told.st_size
            out[path.relative_to(folder).as_posix()] = (told.st_mode, size, changed)
    return out


def _writable(arguments: list[str]) -> tuple[str, ...]:
    """Return what a command may write: what it was told to, and for some their own input."""
    out = ["out/"]
    if arguments[0] == "seal":
        out.append(f"{arguments[1]}/seal.dsse.json")
    if arguments[0] == "store":
        out.append("in/store")
    given = [option for option in ("--store", "--out") if option in arguments]
    return (*out, *(arguments[arguments.index(option) + 1] for option in given))


def _printed(arguments: list[str]) -> tuple[int | None, str, str, str | None]:
    """Run a command line; return exit code, both outputs, and its traceback if it has one."""
    import traceback

    from inquesto_core.cli import main

    streams = sys.stdout, sys.stderr
    kept = os.dup(1), os.dup(2)
    files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115 - closed below
    broken: str | None = None
    code: Any = 0
    try:
        for number, file in enumerate(files, 1):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = (
            open(number, "w", encoding="utf-8", closefd=False, errors="surrogatepass")  # noqa: SIM115
            for number in (1, 2)
        )
        try:
            main(arguments)
        except SystemExit as exc:
            code = exc.code
        except BaseException:  # noqa: BLE001 - whatever it is, it is the fault that is looked for
            broken = traceback.format_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        sys.stdout, sys.stderr = streams
        for number, descriptor in enumerate(kept, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)
    texts = []
    for file in files:
        file.seek(0)
        texts.append(file.read().decode("utf-8", "surrogateescape"))
        file.close()
    return (code if isinstance(code, int) else 0), texts[0], texts[1], broken


def _ending_faults(
    arguments: list[str], code: int | None, said: str, broken: str | None
) -> Iterator[str]:
    """Yield what is wrong with how a command ended."""
    if broken is not None:
        yield f"traceback: {broken.strip()[-1500:]}"
    elif code not in _CODES:
        yield f"exit code {code}: {said.strip()[-600:]!a}"
    elif code == 1 and arguments[0] not in _MAY_FAIL:
        yield f"exit code 1 of {arguments[0]}"
    if "Traceback (most recent call last)" in said or "panicked at" in said:
        yield f"standard error holds a traceback: {said[-1500:]!a}"


def _terminal_faults(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        bad = next(
            (
                c
                for c in line
                if c in _FORMAT or (unicodedata.category(c) in {"Cc", "Cs"} and c != "\t")
            ),
            None,
        )
        if bad is not None:
            yield f"prints U+{ord(bad):04X} to a terminal: {line[:120]!a}"
            return
    longest = max(map(len, text.split("\n")))
    if longest > _LINE_LIMIT:
        yield f"prints a line of {longest} characters"


def _refusal_faults(code: int, said: str, known: frozenset[str]) -> tuple[str | None, list[str]]:
    """Return the code of a refusal and what is wrong with how it is said."""
    lines = [line for line in said.split("\n") if line.strip()]
    if code not in {2, 3}:
        return None, []
    if not lines:
        return None, [f"exit {code} without a word"]
    coded = [match["code"] for line in lines if (match := _CODED.search(line))]
    if not coded:
        is_usage = any(line.startswith("Error: ") for line in lines)
        return "usage" if is_usage else None, [] if is_usage else [f"no code: {lines[-1][:300]!a}"]
    faults = []
    for line in lines:
        match = _CODED.search(line)
        if match is None:
            continue
        if match["code"] not in known or match["code"] == "error":
            faults.append(f"the code {match['code']} is not in docs/problems.md: {line[:300]!a}")
        if line.startswith("inquesto-core:") and "; expected " not in line:
            faults.append(f"does not say what was expected: {line[:300]!a}")
        if re.search(r"\b[A-Z][A-Za-z]+(?:Error|Exception)\b", line):
            faults.append(f"names an exception: {line[:300]!a}")
    return coded[-1], faults


def _call_faults(case: Path, kind: Kind, said: str) -> Iterator[str]:
    """Yield what is not told of the calls that were given."""
    if kind.calls is None or not (case / "out/run/manifest.json").is_file():
        return
    import polars as pl

    run = case / "out/run"
    records = [*run.glob("record.json"), *run.glob("records/*.json")]
    total = 0
    for file in records:
        accounting = json.loads(file.read_bytes())["accounting"]
        parts = [accounting[f"{name}_n"] for name in ("excluded", "not_evaluated", "timing_only")]
        total += accounting["total"]
        if accounting["in_n"] + sum(parts) != accounting["total"]:
            yield f"states do not add up: {accounting['in_n']} + {parts} of {accounting['total']}"
    rows = pl.read_parquet(run / "calls.parquet")
    calls = rows.filter(pl.col("call_id").is_not_null())  # the others are slots without a call
    if calls["state"].null_count() or calls["call_id"].n_unique() != calls.height:
        yield f"a call has no state, or two: {calls.select('call_id', 'state').rows()}"
    given = [path.name for path in (case / "in" / kind.calls).iterdir() if path.is_dir()]
    named = sum(f"{name}" in said for name in given)
    if calls.height < len(given) and calls.height + named < len(given):
        yield f"{len(given)} calls given, {calls.height} in the run, {named} named"
    if total < rows.height:
        yield f"records hold {total} of {rows.height} rows"


def run_case(kind: Kind, seed: str, *, base: Path, room: Path, is_control: bool) -> Outcome:
    """Run the case that this seed makes, in a new folder of `room`, which is taken away again.

    Of a control nothing is changed: it must not be refused.
    """
    rng = random.Random(seed)
    case = room / "case"
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir(parents=True)
    _lay_out(base, case, kind)
    path, form = _chosen(rng, case, kind)
    file = path.relative_to(case).as_posix()
    before_change = path.read_bytes()
    arguments = rng.choice(kind.commands(rng, file))
    how = "unchanged" if is_control else _replace(rng, path, form, is_named=file in arguments)
    what = f"{file} ({how}): {' '.join(arguments)}"
    (room / "now.txt").write_text(what, encoding="utf-8")
    beside, inside = _snapshot(room), _snapshot(case)
    here = Path.cwd()
    os.chdir(case)
    tempfile.tempdir = str(case / "tmp")
    try:
        code, printed, said, broken = _printed(arguments)
    finally:
        tempfile.tempdir = None
        os.chdir(here)
    faults = list(_ending_faults(arguments, code, said, broken))
    problem = None
    if code is not None and broken is None:
        if arguments[0] != "validate":
            problem, more = _refusal_faults(code, said, _known_codes())
            faults += more
        elif code == 3 and not (said + printed).strip():
            faults.append("validate refuses without a word")
    shown = (
        said if "--json" in arguments or arguments[:2] == ["protocol", "show"] else printed + said
    )
    faults += _terminal_faults(shown)
    allowed = _writable(arguments)
    after = _snapshot(case)
    for name in sorted(inside.keys() | after.keys()):
        if inside.get(name) != after.get(name) and not f"{name}/".startswith(allowed):
            faults.append(f"changed outside of its output: {name}")
    new = {name for name in _snapshot(room) if not name.startswith("case/")} - beside.keys()
    if new:
        faults.append(f"wrote beside the case: {sorted(new)}")
    if code in {0, 3, 4}:
        faults += _call_faults(case, kind, said)
    if is_control and code in {2, 3}:
        faults.append(f"refuses what was not changed: {said.strip()[-600:]!a}")
    is_changed = not path.is_file() or path.is_symlink() or path.read_bytes() != before_change
    if kind.is_sealed and code == 0 and is_changed:
        faults.append("a sealed file was changed, and verify says that it holds")
    shutil.rmtree(case, ignore_errors=True)
    return Outcome(what=what, code=code, problem=problem, faults=tuple(faults))
