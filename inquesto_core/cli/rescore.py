"""``inquesto-core rescore``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


def _progress(done: int, total: int) -> None:
    if done % max(1, total // 10) == 0 or done == total:
        say(f"measured {done} of {total} calls", err=True)


@click.command("rescore")
@click.argument("run", type=click.Path(file_okay=False))
@click.option("--protocol", required=True, help="Name or folder of the protocol to read it with.")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Run folder to write.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    help="Where the run's bundles lie; needed only if the protocol measures differently.",
)
@click.option(
    "--store",
    default=None,
    type=click.Path(file_okay=False),
    help="Evidence store to read and fill where something is measured anew.",
)
@click.option(
    "--run-protocol",
    default=None,
    help="Name or folder of the protocol that the run was scored with; default: by its name.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=None, help="Processes; default: cores."
)
@click.option("--json", "as_json", is_flag=True, help="Print the difference's summary as JSON.")
def command(
    run: str,
    protocol: str,
    out: str,
    sources: tuple[str, ...],
    store: str | None,
    run_protocol: str | None,
    workers: int | None,
    as_json: bool,
) -> int:
    """Reduce a stored run under another protocol, and say what that changed, call by call.

    RUN stays as it is. No recording is read and no model loaded, unless the protocol measures
    something differently; then --source shows where the bundles are.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import NOT_EVALUATED
    from inquesto_core.report.differences_text import difference_lines, difference_summary

    done = engine.rescore(
        run,
        protocol=protocol,
        out=out,
        sources=sources,
        store=store,
        run_protocol=run_protocol,
        workers=workers or os.cpu_count() or 1,
        progress=_progress,
    )
    result = done.result
    summary = difference_summary(
        done.before.records,
        result.records,
        done.differences,
        result.decisions,
        done.changes,
        done.notes,
    )
    if as_json:
        say(pretty_bytes(summary).decode(), newline=False)
    kept_in = str(Path(out) / engine.DIFFERENCES_FILE)
    for line in difference_lines(summary, done.differences, kept_in=kept_in):
        say(line, err=as_json)
    return 0 if result.is_complete else NOT_EVALUATED
