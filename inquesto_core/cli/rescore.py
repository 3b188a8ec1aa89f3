"""``inquesto-core rescore``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from inquesto_core.cli.file_types import SourceLocation
from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE
from inquesto_core.cli.workers import executor_options, workers_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("rescore")
@click.argument("run", type=click.Path(file_okay=False))
@click.option("--protocol", required=True, help="Name or folder of the protocol to read it with.")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Run folder to write.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=SourceLocation(),
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
@ALLOW_REMOTE
@executor_options
@click.option("--json", "as_json", is_flag=True, help="Print the difference's summary as JSON.")
def command(
    run: str,
    protocol: str,
    out: str,
    sources: tuple[str, ...],
    store: str | None,
    allow_remote: tuple[str, ...],
    run_protocol: str | None,
    workers: int | None,
    executor: str,
    address: str | None,
    as_json: bool,
) -> int:
    """Reduce a stored run under another protocol, and say what that changed, call by call.

    RUN stays as it is; of a folder of runs, each becomes a run of its name in the folder --out.
    No recording is read and no model loaded, unless the protocol measures something differently;
    then --source shows where the bundles are. A run of signals or checks is decided again under
    another protocol of either.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import NOT_EVALUATED
    from inquesto_core.cli.progress import Progress
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.differences_text import difference_lines, difference_summary
    from inquesto_core.report.escape import escape_terminal

    allowed, shown = allowed_schemes(allow_remote), out.rstrip("/")
    summaries, is_complete = {}, True
    with (
        engine.run_to_write(out, allowed=allowed, read=run) as folder,
        engine.run_at_hand(run, allowed=allowed) as before,
        Progress({"measuring": "measured", "reducing": "reduced"}) as progress,
    ):
        for name, each in engine.runs_in(before).items():
            if engine.is_outcome_run(each):
                shown_at = "/".join(filter(None, (shown, name, engine.DIFFERENCES_FILE)))
                summaries[name], complete = _rescore_outcome(
                    each, protocol, folder / name, kept_in=shown_at, err=as_json
                )
                is_complete = is_complete and complete
                continue
            done = engine.rescore(
                each,
                protocol=protocol,
                out=folder / name,
                sources=sources,
                store=store,
                allow_remote=allow_remote,
                run_protocol=run_protocol,
                workers=workers_of(workers, executor, address),
                executor=executor,
                address=address,
                progress=progress.of("measuring"),
                reduction_progress=progress.of("reducing"),
            )
            summary = difference_summary(
                done.before.records, done.result.records, done.counts, done.changes, done.notes
            )
            summaries[name] = summary
            is_complete = is_complete and done.result.is_complete
            kept_in = (folder / name / engine.DIFFERENCES_FILE).is_file()
            parts = [shown, name, "" if kept_in else "parts/*", engine.DIFFERENCES_FILE]
            lines = difference_lines(summary, done.counts, kept_in="/".join(filter(None, parts)))
            heading = [f"{escape_terminal(name)}:"] if name else []
            for line in [*heading, *lines]:
                say(line, err=as_json)
    if as_json:
        document = summaries.get("", summaries)
        say(pretty_bytes(document).decode(), newline=False)
    return 0 if is_complete else NOT_EVALUATED


def _rescore_outcome(
    run: Path, protocol: str, out: Path, *, kept_in: str, err: bool
) -> tuple[dict[str, Any], bool]:
    """Decide a run of signals or checks again; return the summary, and whether it is complete."""
    from inquesto_core import engine
    from inquesto_core.report.outcome_compare_text import (
        outcome_difference_lines,
        outcome_difference_summary,
    )

    done = engine.rescore_outcomes(run, protocol=protocol, out=out)
    calls = done.result.decisions.height
    summary = outcome_difference_summary(
        done.before.records, done.result.records, done.differences, calls, done.notes
    )
    for line in outcome_difference_lines(summary, done.differences, kept_in=kept_in):
        say(line, err=err)
    return summary, done.result.is_complete
