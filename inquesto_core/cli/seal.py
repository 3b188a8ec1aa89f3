"""``inquesto-core seal``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


@click.command("seal")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--key",
    required=True,
    type=click.Path(dir_okay=False),
    help="Private key, as `keygen` makes it.",
)
@click.option(
    "--protocol",
    default=None,
    help="Name or folder of the protocol that the run was scored with; default: by its name.",
)
def command(run: str, key: str, protocol: str | None) -> None:
    """Sign a run: its records, and the digest of everything that they were made of.

    The statement lies in RUN/seal.dsse.json. A run that is sealed gets one more signature. Nothing
    is signed that does not hold: files, protocol and re-derivation are checked first.
    """
    from inquesto_core import engine
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    done = engine.seal(run, key=key, protocol=protocol)
    about, signers = counted(done.subjects, "subject"), counted(done.signatures, "signature")
    say(f"{escape_terminal(str(done.file))}: a statement about {about}, {signers}")
    say(f"signed by the key {done.keyid}")
