"""``inquesto-core store``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

if TYPE_CHECKING:
    from inquesto_core.evidence.store import EvidenceStore

__all__ = ["command"]

_FOLDER = click.argument("folder", metavar="STORE", type=click.Path(file_okay=False))


def _opened(folder: str, allow_remote: tuple[str, ...]) -> EvidenceStore:
    from inquesto_core.evidence.store import EvidenceStore
    from inquesto_core.places import allowed_schemes, locate

    return EvidenceStore.of(locate(folder, allowed=allowed_schemes(allow_remote)))


@click.group("store")
def command() -> None:
    """Look after an evidence store (`score --store STORE`)."""


@command.command("stats")
@_FOLDER
@ALLOW_REMOTE
def stats(folder: str, allow_remote: tuple[str, ...]) -> None:
    """Count what is kept, by kind and by the instruments that made it."""
    from inquesto_core.evidence.store_summary import summarise
    from inquesto_core.report.store_text import stats_text

    say(stats_text(summarise(_opened(folder, allow_remote))))


@command.command("verify")
@_FOLDER
@ALLOW_REMOTE
def verify(folder: str, allow_remote: tuple[str, ...]) -> int:
    """Prove every file by its digest; exit code 1 where one is damaged (it is moved aside)."""
    problems = _opened(folder, allow_remote).verify()
    for problem in problems:
        say(str(problem))
    say(f"{len(problems)} damaged" if problems else "every entry is what was written")
    return 1 if problems else 0


@command.command("prune")
@_FOLDER
@ALLOW_REMOTE
@click.option("--dry-run", is_flag=True, help="Say what would go, and take nothing out.")
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="Keep what these protocols measure; default: all that are here.",
)
def prune(
    folder: str, *, allow_remote: tuple[str, ...], dry_run: bool, protocols: tuple[str, ...]
) -> None:
    """Take out evidence of instruments that no protocol pins."""
    from inquesto_core.engine.store_pins import pins_of
    from inquesto_core.evidence.store_summary import summarise
    from inquesto_core.report.store_text import pruned_text

    store = _opened(folder, allow_remote)
    kept = pins_of(protocols)
    for problem in [] if dry_run else store.verify():
        say(str(problem))
    held = summarise(store)
    going = [part for part in held.parts if part.made_by not in kept]
    if not dry_run:
        store.prune(kept)
    say(pruned_text(going, is_dry=dry_run, damaged=held.damaged))


@command.command("forget")
@_FOLDER
@ALLOW_REMOTE
@click.argument("call_id")
def forget(folder: str, call_id: str, allow_remote: tuple[str, ...]) -> None:
    """Erase all evidence of one call, and leave a tombstone that does not name it."""
    from inquesto_core.report.store_text import forgotten_text

    store = _opened(folder, allow_remote)
    before = store.is_forgotten(call_id)
    store.verify()
    damaged = store.damaged_files()
    say(forgotten_text(store.forget(call_id), damaged=damaged, was_forgotten=before))
