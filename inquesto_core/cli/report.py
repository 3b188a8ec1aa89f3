"""``inquesto-core report``."""

from __future__ import annotations

import click

from inquesto_core.cli.file_types import SourceLocation
from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

__all__ = ["command"]


@click.command("report")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--out",
    default=None,
    type=click.Path(),
    help="Page to write, with --audio all a folder; default: RUN.html beside the run.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=SourceLocation(),
    help="Where the run's bundles lie; without them the report has no sound.",
)
@click.option(
    "--audio",
    type=click.Choice(["events", "none", "all"]),
    default="events",
    show_default=True,
    help="Sound around events in the page; none; or whole calls as files beside it.",
)
@click.option(
    "--audio-budget",
    default="25MB",
    show_default=True,
    help="How much sound the page may hold; the most severe events come first.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="Leave transcript, arguments, reasons and sound out; calls are named by hashes.",
)
@click.option(
    "--protocol",
    default=None,
    help="Name or folder of the protocol that the run was scored with; default: by its name.",
)
@ALLOW_REMOTE
def command(
    run: str,
    out: str | None,
    sources: tuple[str, ...],
    audio: str,
    audio_budget: str,
    redact: bool,
    protocol: str | None,
    allow_remote: tuple[str, ...],
) -> None:
    """Write a run as one page to read in a browser, without network.

    It holds the score and what limits it, every failed call with its timeline, and, where --source
    shows the bundles, the sound around each event.
    """
    from pathlib import Path

    from inquesto_core import engine
    from inquesto_core.cli.progress import Progress
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    with (
        engine.run_at_hand(run, allowed=allowed_schemes(allow_remote)) as folder,
        Progress({"writing": "wrote", "cutting": "cut"}) as progress,
    ):
        beside = None if Path(run).exists() or out else f"{folder.name}.html"
        done = engine.report(
            folder,
            out=out or beside,
            sources=sources,
            audio=audio,
            audio_budget=audio_budget,
            redact=redact,
            protocol=protocol,
            progress=progress.of("writing"),
            sound_progress=progress.of("cutting"),
        )
    say(
        f"{escape_terminal(str(done.path))}: {done.size_bytes / 1e6:.1f} MB, "
        f"{counted(done.listed, 'call')}, {done.pages} with a page, {done.clips} with sound"
    )
    for note in done.notes:
        say(f"  {escape_terminal(note)}")
