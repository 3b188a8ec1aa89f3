"""``inquesto-core judge``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]

_PROTOCOL = click.option(
    "--protocol", default=None, help="Name or folder of the run's protocol; default: by its name."
)
_POPULATION = click.option(
    "--population", default=None, help="The run's population file, where it holds no copy."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")


@click.group("judge")
def command() -> None:
    """Compare a judge with people and with other judges."""


@command.command("agreement")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--against", type=click.Path(file_okay=False), default=None, help="A run of the same calls."
)
@click.option(
    "--labels",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="CSV of a labeller; give it twice for two.",
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    help="key.json of the labelled sheet.",
)
@click.option(
    "--half",
    type=click.Choice(["development", "held-out", "both"]),
    default="both",
    show_default=True,
    help="Scenarios that rubrics are worked on with, or those held out.",
)
@_PROTOCOL
@_POPULATION
@_JSON
def agreement(
    run: str,
    against: str | None,
    labels: tuple[str, ...],
    key: str | None,
    half: str,
    protocol: str | None,
    population: str | None,
    as_json: bool,
) -> None:
    """Show how a run's judge agrees with labels, or with the judge of another run."""
    if (against is None) == (not labels):
        raise click.UsageError("give either --against RUN2 or --labels CSV")
    if len(labels) > 2:
        raise click.UsageError("--labels takes one or two files")
    if key is not None and not labels:
        raise click.UsageError("--key goes with --labels")
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine import agreement as engine
    from inquesto_core.report.agreement_text import agreement_lines

    if against is not None:
        report = engine.agreement_with_run(
            run, against, half=half, protocol=protocol, population=population
        )
    else:
        report = engine.agreement_with_labels(
            run, labels, key=key, half=half, protocol=protocol, population=population
        )
    if as_json:
        say(pretty_bytes(report.document()).decode(), newline=False)
        return
    for line in agreement_lines(report):
        say(line)


@command.command("sheet")
@click.argument("run", type=click.Path(file_okay=False))
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder to write.")
@click.option(
    "--n", "count", type=click.IntRange(min=1), default=40, show_default=True, help="Calls."
)
@click.option(
    "--seed", type=int, default=None, help="Draw the same sheet again; default: by chance."
)
@_PROTOCOL
@_POPULATION
def sheet(
    run: str,
    out: str,
    count: int,
    seed: int | None,
    protocol: str | None,
    population: str | None,
) -> None:
    """Write a labelling sheet: calls drawn by outcome, blind to the judge's answers."""
    from inquesto_core.engine.labelling import write_sheet
    from inquesto_core.report.sheet_text import sheet_lines

    written = write_sheet(
        run, out=out, n=count, seed=seed, protocol=protocol, population=population
    )
    for line in sheet_lines(written.key, without_transcript=written.without_transcript):
        say(line)


@command.command("ranking")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(exists=True))
@_JSON
def ranking(runs: tuple[str, ...], as_json: bool) -> None:
    """Show whether runs keep their order judge-free, transcript-only, at other thresholds.

    RUN is a run folder or the file of a record.
    """
    from dataclasses import asdict

    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine.agreement import ranking_of_runs
    from inquesto_core.report.agreement_text import ranking_lines

    found = ranking_of_runs(runs)
    if as_json:
        say(pretty_bytes(asdict(found)).decode(), newline=False)
        return
    for line in ranking_lines(found):
        say(line)
