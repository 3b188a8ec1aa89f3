"""``inquesto-core extraction``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]

_FILE = click.Path(exists=True, dir_okay=False)


@click.command("extraction")
@click.argument("contract", type=_FILE)
@click.option("--extracted", required=True, type=_FILE, help="What the system gave: JSONL or CSV.")
@click.option("--reviewed", required=True, type=_FILE, help="What people found: JSONL or CSV.")
@click.option(
    "--run",
    type=click.Path(file_okay=False),
    default=None,
    help="Run whose transcripts hold what is cited.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
def command(contract: str, extracted: str, reviewed: str, run: str | None, as_json: bool) -> None:
    """Show extracted fields beside reviewed ones: right, wrong, missing, invalid apart."""
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine.extraction import extraction
    from inquesto_core.report.extraction_text import extraction_document, extraction_lines

    found = extraction(contract, extracted=extracted, reviewed=reviewed, run=run)
    if as_json:
        say(pretty_bytes(extraction_document(found)).decode(), newline=False)
        return
    for line in extraction_lines(found):
        say(line)
