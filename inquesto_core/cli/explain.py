"""``inquesto-core explain``."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("explain")
@click.argument("run", type=click.Path(file_okay=False))
@click.argument("call_id")
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
def command(run: str, call_id: str, as_json: bool) -> None:
    """Show one call of a run: timeline, events, trace, verdicts."""
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.protocol import load_protocol
    from inquesto_core.report.explain import explain_facts, explain_lines

    stored = engine.load_run(run)
    law = load_protocol(stored.manifest["protocol"]["name"])
    if as_json:
        facts = explain_facts(call_id, stored.tables, stored.decisions, law)
        click.echo(pretty_bytes(facts).decode(), nl=False)
        return
    for line in explain_lines(call_id, stored.tables, stored.decisions, law):
        click.echo(line)
