"""``inquesto-core sample``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


@click.command("sample")
@click.argument("run", required=False, type=click.Path(file_okay=False))
@click.argument("more", nargs=-1, metavar="[CALL_ID...]")
@click.option("--out", default=None, type=click.Path(file_okay=False), help="Folder to write.")
@click.option(
    "--n", "count", default=60, show_default=True, type=click.IntRange(min=2), help="Calls to draw."
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Of the draw."
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Strata: outcome, condition, group, scenario_id; default: outcome and condition.",
)
@click.option("--agent", default=None, help="Whose calls, by name or fingerprint; default: all.")
@click.option(
    "--estimate",
    default=None,
    metavar="CSV",
    type=click.Path(exists=True, dir_okay=False),
    help="Say what a filled review sheet means for the whole run.",
)
@click.option(
    "--key",
    default=None,
    type=click.Path(exists=True, dir_okay=False),
    help="key.json of the sheet; default: beside the CSV or one folder up.",
)
@click.option(
    "--failures",
    multiple=True,
    metavar="CALL_ID...",
    help="Cut these failed calls into a regression set.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Path(exists=True),
    help="Where the bundles of --failures lie.",
)
@click.option("--reviewer", default=None, help="Who reviewed the failures.")
@click.option("--note", default="", help="What was found; stands with each failure.")
@click.option("--protocol", default=None, help="Folder of the protocol, where it is not shipped.")
@click.option("--population", default=None, help="Population file, where the run holds none.")
@click.option("--json", "as_json", is_flag=True, help="Print the estimates, or the set, as JSON.")
def command(
    run: str | None,
    more: tuple[str, ...],
    out: str | None,
    count: int,
    seed: int,
    by: tuple[str, ...],
    agent: str | None,
    estimate: str | None,
    key: str | None,
    failures: tuple[str, ...],
    sources: tuple[str, ...],
    reviewer: str | None,
    note: str,
    protocol: str | None,
    population: str | None,
    as_json: bool,
) -> None:
    """Draw calls for people to review; say what their answers mean; cut regression sets.

    sample RUN --out DIR draws a sample that stands for the run, with critical failures apart.
    sample --estimate CSV reads the sheet that a reviewer filled in. sample RUN --failures ID...
    --source BUNDLES --out DIR keeps reviewed failures to be asked again.
    """
    if estimate is not None:
        if run is not None or failures:
            raise click.UsageError("--estimate takes no RUN and no --failures")
        _estimate(estimate, key, as_json=as_json)
        return
    if run is None or out is None:
        raise click.UsageError("name RUN and --out DIR, or --estimate CSV")
    if failures:
        if not sources:
            raise click.UsageError("--failures needs the run's bundles: name them with --source")
        from inquesto_core.canonical import pretty_bytes
        from inquesto_core.engine.regression import cut_failures
        from inquesto_core.report.regression_text import set_lines

        held = cut_failures(
            run,
            (*failures, *more),
            sources=sources,
            out=out,
            reviewer=reviewer,
            note=note,
            protocol=protocol,
            population=population,
        )
        for line in set_lines(held):
            say(line, err=as_json)
        if as_json:
            say(pretty_bytes(held.document()).decode(), newline=False)
        return
    if more:
        raise click.UsageError("call ids go with --failures")
    _write(run, out, count, seed, by, agent, protocol, population)


def _write(
    run: str,
    out: str,
    count: int,
    seed: int,
    by: tuple[str, ...],
    agent: str | None,
    protocol: str | None,
    population: str | None,
) -> None:
    from inquesto_core.engine.review import DEFAULT_BY, sample
    from inquesto_core.report.review_text import review_lines

    written = sample(
        run,
        out=out,
        n=count,
        seed=seed,
        by=by or DEFAULT_BY,
        agent=agent,
        protocol=protocol,
        population=population,
    )
    for line in review_lines(
        written.key, apart=written.apart, without_transcript=written.without_transcript
    ):
        say(line)


def _estimate(file: str, key: str | None, *, as_json: bool) -> None:
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine.review import estimate_review
    from inquesto_core.report.review_text import estimate_lines

    found = estimate_review(file, key=key)
    for line in estimate_lines(found):
        say(line, err=as_json)
    if as_json:
        say(pretty_bytes(found.document()).decode(), newline=False)
