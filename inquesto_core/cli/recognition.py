"""``inquesto-core recognition``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

__all__ = ["command"]

_FILE = click.Path(exists=True, dir_okay=False)


@click.command("recognition")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--reference",
    type=_FILE,
    default=None,
    help="JSON Lines or CSV: call_id, speaker, text, language; default: the platform's transcript.",
)
@click.option("--names", type=_FILE, default=None, help="Names that must be heard, one a line.")
@click.option(
    "--negations",
    type=_FILE,
    default=None,
    help='JSON: words that deny, a language each: {"de": ["nimmer"]}.',
)
@ALLOW_REMOTE
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
def command(
    run: str,
    reference: str | None,
    names: str | None,
    negations: str | None,
    allow_remote: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how well callers were understood: word error, entities, denials, by slice."""
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine.recognition import recognition_of_run
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.recognition_text import recognition_document, recognition_lines

    with engine.run_at_hand(run, allowed=allowed_schemes(allow_remote)) as folder:
        found = recognition_of_run(folder, reference=reference, names=names, negations=negations)
    if as_json:
        say(pretty_bytes(recognition_document(found)).decode(), newline=False)
        return
    for line in recognition_lines(found):
        say(line)
