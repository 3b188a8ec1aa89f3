"""``inquesto-core score``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


Show = Callable[[int, int], None]


def _plain_progress(done_to: str) -> Show:
    def show(done: int, total: int) -> None:
        step = max(1, total // 10)
        if done % step == 0 or done == total:
            say(f"{done_to} {done} of {total} calls", err=True)

    return show


def _bar() -> tuple[Show, Show, Show, Callable[[], None]]:
    """Return how to show measuring, hearing and judging, and how to end showing it."""
    if not sys.stderr.isatty():
        measured, heard, judged = map(_plain_progress, ("measured", "transcribed", "judged"))
        return measured, heard, judged, lambda: None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    measuring = bar.add_task("measuring", total=None)
    hearing = bar.add_task("transcribing", total=None, visible=False)
    judging = bar.add_task("judging", total=None, visible=False)
    bar.start()
    return (
        lambda done, total: bar.update(measuring, completed=done, total=total),
        lambda done, total: bar.update(hearing, completed=done, total=total, visible=True),
        lambda done, total: bar.update(judging, completed=done, total=total, visible=True),
        bar.stop,
    )


@click.command("score")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Run folder to write.")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
@click.option("--population", default=None, help="Population file; default: beside the calls.")
@click.option(
    "--judge",
    default="auto",
    show_default=True,
    help="auto, recorded (verdicts in the bundles), none (judge-free), pinned or gguf:PATH.",
)
@click.option(
    "--gpu-layers",
    type=click.IntRange(min=0),
    default=None,
    help="Layers of the judge's model on a GPU; default: as pinned (none).",
)
@click.option(
    "--transcriber",
    default="auto",
    show_default=True,
    help="auto or none (calls are not transcribed), pinned or folder:PATH.",
)
@click.option(
    "--store",
    default=None,
    type=click.Path(file_okay=False),
    help="Evidence store to read and fill; what it holds is not measured again.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=None, help="Processes; default: cores."
)
@click.option(
    "--evaluated-at",
    type=click.DateTime(["%Y-%m-%d"]),
    default=None,
    help="Date of the record; default: the newest end of a call.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record alone on standard output.")
def command(
    sources: tuple[str, ...],
    out: str,
    protocol: str,
    population: str | None,
    judge: str,
    gpu_layers: int | None,
    transcriber: str,
    store: str | None,
    workers: int | None,
    evaluated_at: object,
    as_json: bool,
) -> int:
    """Score call bundles and write a run folder.

    SOURCE is a bundle folder, a folder of bundles, a .zip or .tar of bundles, or a manifest
    (.jsonl, .parquet) of bundle locations.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import BAD_INPUT, NOT_EVALUATED
    from inquesto_core.engine.judging import needs_model
    from inquesto_core.report.escape import escape_terminal
    from inquesto_core.report.terminal import score_lines

    if gpu_layers is not None and not needs_model(judge):
        raise click.UsageError("--gpu-layers goes with --judge pinned or gguf:PATH")
    show, show_heard, show_judged, stop = _bar()
    try:
        result = engine.score(
            sources,
            out=out,
            protocol=protocol,
            population=population,
            judge=judge,
            gpu_layers=gpu_layers,
            transcriber=transcriber,
            store=store,
            workers=workers or os.cpu_count() or 1,
            evaluated_at=None if evaluated_at is None else f"{evaluated_at:%Y-%m-%d}",
            progress=show,
            judge_progress=show_judged,
            transcriber_progress=show_heard,
        )
    finally:
        stop()
    messages = [
        *(f"{problem.level}: {problem}" for problem in result.problems),
        *(
            f"{level}: {text}"
            for level, text in result.tables["problems"].select("level", "message").rows()
        ),
    ]
    for message in messages:
        say(escape_terminal(message), err=True)
    if judge == "auto" and any("[judge-free]" in r["citation"] for r in result.records.values()):
        say(
            "not every bundle carries verdicts: scored judge-free; --judge pinned asks the "
            "protocol's judge, --judge recorded reads a verdicts.json in each",
            err=True,
        )
    untold = result.without_transcript
    if transcriber == "auto" and untold:
        say(
            f"{untold} of {result.tables['calls'].height} calls bring no transcript and were not "
            "transcribed; --transcriber pinned hears them",
            err=True,
        )
    records = list(result.records.values())
    if as_json:
        document = records[0] if len(records) == 1 else records
        say(pretty_bytes(document).decode(), newline=False)
    for at, record in enumerate(records):
        for line in ([""] if at else []) + score_lines(record, result.decisions):
            say(line, err=as_json)
    if result.has_bad_input:
        return BAD_INPUT
    return 0 if result.is_complete else NOT_EVALUATED
