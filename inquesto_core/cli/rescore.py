"""``inquesto-core rescore``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE
from inquesto_core.cli.workers import executor_options, workers_of

__all__ = ["command"]


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

    RUN stays as it is. No recording is read and no model loaded, unless the protocol measures
    something differently; then --source shows where the bundles are.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import NOT_EVALUATED
    from inquesto_core.cli.progress import Progress
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.differences_text import difference_lines, difference_summary

    allowed = allowed_schemes(allow_remote)
    with (
        engine.run_to_write(out, allowed=allowed, read=run) as folder,
        engine.run_at_hand(run, allowed=allowed) as before,
        Progress({"measuring": "measured", "reducing": "reduced"}) as progress,
    ):
        done = engine.rescore(
            before,
            protocol=protocol,
            out=folder,
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
        is_whole = (folder / engine.DIFFERENCES_FILE).is_file()
    result = done.result
    summary = difference_summary(
        done.before.records,
        result.records,
        done.counts,
        done.changes,
        done.notes,
    )
    if as_json:
        say(pretty_bytes(summary).decode(), newline=False)
    shown = out.rstrip("/")
    kept_in = f"{shown}/{'' if is_whole else 'parts/*/'}{engine.DIFFERENCES_FILE}"
    for line in difference_lines(summary, done.counts, kept_in=kept_in):
        say(line, err=as_json)
    return 0 if result.is_complete else NOT_EVALUATED
