"""``inquesto-core outcomes``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


@click.command("outcomes")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--costs",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    help="JSON Lines or CSV: call_id, cost, currency.",
)
@click.option(
    "--bundles",
    type=click.Path(exists=True),
    default=None,
    help="The run's bundles, whose tags `cost` and `cost_currency` tell what a call cost.",
)
@click.option(
    "--protocol", default=None, help="Name or folder of the run's protocol; default: by its name."
)
@click.option(
    "--population", default=None, help="The run's population file, where it holds no copy."
)
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
def command(
    run: str,
    costs: str | None,
    bundles: str | None,
    protocol: str | None,
    population: str | None,
    as_json: bool,
) -> None:
    """Show where failed calls first depart; hand-overs, delivery, cost, waiting."""
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine.call_outcomes import outcomes_of_run
    from inquesto_core.report.call_outcomes_text import outcomes_document, outcomes_lines

    found = outcomes_of_run(
        run, costs=costs, bundles=bundles, protocol=protocol, population=population
    )
    if as_json:
        say(pretty_bytes(outcomes_document(found)).decode(), newline=False)
        return
    for line in outcomes_lines(found):
        say(line)
