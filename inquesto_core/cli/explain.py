"""``inquesto-core explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

if TYPE_CHECKING:
    from inquesto_core.engine import OutcomeRun

__all__ = ["command"]


@click.command("explain")
@click.argument("run", type=click.Path(file_okay=False))
@click.argument("call_id")
@click.option(
    "--protocol",
    default=None,
    help="Name or folder of the protocol that the run was scored with; default: by its name.",
)
@ALLOW_REMOTE
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
def command(
    run: str, call_id: str, protocol: str | None, allow_remote: tuple[str, ...], as_json: bool
) -> None:
    """Show one call of a run: timeline, events, trace, verdicts."""
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.explain import explain_facts, explain_lines

    with engine.run_at_hand(run, allowed=allowed_schemes(allow_remote)) as folder:
        outcome = engine.load_outcome(folder)
        if outcome is not None:
            _show_outcome(outcome, call_id, as_json=as_json)
            return
        stored = engine.load_call(folder, call_id, protocol=protocol)
    law = engine.protocol_of_run(stored, protocol)
    if as_json:
        facts = explain_facts(call_id, stored.tables, stored.decisions, law, stored.population)
        say(pretty_bytes(facts).decode(), newline=False)
        return
    for line in explain_lines(call_id, stored.tables, stored.decisions, law, stored.population):
        say(line)


def _show_outcome(outcome: OutcomeRun, call_id: str, *, as_json: bool) -> None:
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.report.outcome_explain import outcome_explain_lines, outcome_facts

    facts = outcome_facts(
        call_id, outcome.decisions, outcome.tables, outcome.population, method=outcome.method
    )
    if as_json:
        say(pretty_bytes(facts).decode(), newline=False)
        return
    for line in outcome_explain_lines(facts):
        say(line)
