"""``inquesto-core redact``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE
from inquesto_core.cli.workers import workers_of

__all__ = ["command"]


@click.command("redact")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder to write.")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
@click.option(
    "--population",
    default=None,
    help="Population whose names may stay; default: beside the calls, or the protocol's.",
)
@ALLOW_REMOTE
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    help="Processes that measure; default: one for each processor.",
)
def command(
    sources: tuple[str, ...],
    out: str,
    protocol: str,
    population: str | None,
    allow_remote: tuple[str, ...],
    workers: int | None,
) -> int:
    """Make bundles that can be shared: timing and outcomes, no words and no sound.

    No transcript, argument, result, reason, date, name or id is in them; what was measured of the
    recording stands in its place. The population is not copied: give it with --population when
    they are scored.
    """
    from inquesto_core import engine
    from inquesto_core.cli.exit_codes import BAD_INPUT
    from inquesto_core.cli.progress import Progress
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    with Progress({"measuring": "measured"}) as progress:
        done = engine.redact(
            sources,
            out=out,
            protocol=protocol,
            population=population,
            allow_remote=allow_remote,
            workers=workers_of(workers, "local", None),
            progress=progress.of("measuring"),
        )
    for problem in done.problems:
        say(escape_terminal(f"{problem.level}: {problem}"), err=True)
    say(f"{counted(done.calls, 'bundle')} without words or sound in {escape_terminal(out)}")
    return BAD_INPUT if any(problem.level == "error" for problem in done.problems) else 0
