"""``inquesto-core keygen``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


@click.command("keygen")
@click.option(
    "--out",
    default="inquesto.key",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="File of the private key; the public one is put beside it, with .pub at the end.",
)
def command(out: str) -> None:
    """Make a key pair to seal runs with (Ed25519, PEM).

    The private key has no password and is readable by its owner only; a file that is there is
    never written over. Give the .pub file to whoever is to verify.
    """
    from inquesto_core.attest import make_keys, read_public
    from inquesto_core.report.escape import escape_terminal

    private, public = make_keys(out)
    say(f"private key  {escape_terminal(str(private))}  keep it secret")
    say(f"public key   {escape_terminal(str(public))}  key id {read_public(public).keyid}")
