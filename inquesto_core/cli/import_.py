"""``inquesto-core import``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from inquesto_core.cli.file_types import FILE
from inquesto_core.cli.output import say

if TYPE_CHECKING:
    from inquesto_core.errors import Problem

__all__ = ["command"]

#: So many calls are named of those that have a problem in common.
_NAMED = 5
_PLACING = (
    "a pass rate needs --population FILE with --scenario NAME for all of them, or --rules FILE "
    "for each; without, timing alone is scored"
)


@click.command("import")
@click.argument("platform", metavar="PLATFORM")
@click.argument("sources", nargs=-1, required=True, metavar="EXPORT...")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder of bundles.")
@click.option(
    "--mapping",
    default=None,
    type=FILE,
    help="What a generic export's fields mean: JSON or TOML.",
)
@click.option(
    "--recordings",
    default=None,
    type=click.Path(exists=True),
    help="The recording, or the folder of all; default: beside the export. Nothing is fetched.",
)
@click.option("--no-audio", is_flag=True, help="Import without recordings: no timing.")
@click.option("--recorder", default=None, help="Which of the platform's recorders wrote the files.")
@click.option(
    "--recording-started",
    default=None,
    help="When the recordings began, as 2026-01-31T09:30:00.250Z, where exports do not say.",
)
@click.option(
    "--caller-channel", type=click.IntRange(0, 63), default=None, help="The caller's channel."
)
@click.option(
    "--agent-channel", type=click.IntRange(0, 63), default=None, help="The agent's channel."
)
@click.option("--agent", default=None, help="The agent's name, instead of the export's.")
@click.option("--population", default=None, help="Population file or name.")
@click.option(
    "--rules", default=None, type=FILE, help="Which scenario a call belongs to: JSON or TOML."
)
@click.option("--scenario", default=None, help="The scenario of all these calls.")
@click.option("--condition", default=None, help="The condition of all these calls.")
@click.option("--group", default=None, help="The speaker group of all these calls.")
@click.option(
    "--skip-role", "skip_roles", multiple=True, help="Rows of this role are no speech, no action."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    help="Processes; default: all processors.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(
    platform: str,
    sources: tuple[str, ...],
    out: str,
    workers: int | None,
    as_json: bool,
    **said: object,
) -> int:
    """Turn a platform's exports into call bundles.

    EXPORT is a file, a folder of exports at any depth, or a quoted pattern. A call that cannot be
    imported is one line; all others are imported.
    """
    import os

    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import BAD_INPUT
    from inquesto_core.cli.progress import Progress
    from inquesto_core.importers import import_exports, import_options
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    options = import_options(**said)  # type: ignore[arg-type]
    with Progress({"importing": "read"}) as progress:
        done = import_exports(
            platform,
            sources,
            out=out,
            options=options,
            workers=(os.cpu_count() or 1) if workers is None else workers,
            progress=progress.of("importing"),
        )
    if as_json:
        document = {
            "bundles": [folder.name for folder in done.folders],
            "written": done.n_written,
            "there": done.n_there,
            "refused": done.n_refused,
            "inferred": [asdict(kind) for kind in done.inferred],
            "problems": [asdict(problem) for problem in done.problems],
        }
        say(pretty_bytes(document).decode(), newline=False)
    for line in _lines(done.problems):
        say(escape_terminal(line), err=True)
    for kind in done.inferred:
        say(escape_terminal(kind.line()), err=True)
    there = f", {done.n_there} there already" if done.n_there else ""
    say(
        escape_terminal(
            f"{counted(done.n_written, 'bundle')} written to {out}{there}, {done.n_refused} refused"
        ),
        err=as_json,
    )
    unplaced = len(done.folders) - done.n_placed
    if unplaced:
        say(f"{counted(unplaced, 'call')} without a scenario: {_PLACING}", err=True)
    elif done.folders and options.population is None:
        say(f"No population was named: {_PLACING}", err=True)
    return BAD_INPUT if done.n_refused else 0


def _lines(problems: Iterable[Problem]) -> list[str]:
    """Return a line a problem; what is the same but for its call is said once, with the calls."""
    kinds: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems:
        said = (problem.level, problem.code, problem.found, problem.expected, problem.remedy)
        kinds.setdefault(said, []).append(problem)
    return [_line(same) for same in kinds.values()]


def _line(same: Sequence[Problem]) -> str:
    first = same[0]
    calls = [each.call_id for each in same if each.call_id is not None]
    if len(same) == 1 or len(calls) != len(same):
        return "\n".join(f"{each.level}: {each}" for each in dict.fromkeys(same))
    named = ", ".join(calls[:_NAMED]) + (", …" if len(calls) > _NAMED else "")
    return f"{first.level}: in {len(calls)} calls ({named}): {replace(first, call_id=None)}"
