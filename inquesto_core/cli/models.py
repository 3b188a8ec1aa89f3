"""``inquesto-core models``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


@click.group("models")
def command() -> None:
    """Show and verify the pinned model files."""


@command.command("list")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
def list_(protocol: str) -> None:
    """Name the models that a protocol pins and say whether they are here."""
    from inquesto_core.instruments.model_files import find_model_file
    from inquesto_core.protocol import load_protocol
    from inquesto_core.report.escape import escape_terminal

    pins = load_protocol(protocol).instruments
    for role, pin in (("judge", pins.judge), ("asr", pins.asr)):
        found = find_model_file(pin)
        where = "" if found.path is None else f"  {escape_terminal(str(found.path))}"
        say(f"{role}  {pin.name}  {found.state}  sha256:{pin.sha256}{where}")


@command.command("verify")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
def verify(protocol: str) -> int:
    """Check the SHA-256 of every pinned model; exit code 4 where one is missing or another."""
    from inquesto_core.cli.exit_codes import NOT_EVALUATED
    from inquesto_core.errors import InstrumentError
    from inquesto_core.instruments.model_files import require_model_file
    from inquesto_core.instruments.vad import find_model as find_vad_model
    from inquesto_core.protocol import load_protocol
    from inquesto_core.report.escape import escape_terminal

    pins = load_protocol(protocol).instruments
    code = 0
    checks: tuple[tuple[str, Callable[[], Path]], ...] = (
        ("vad", lambda: find_vad_model(pins.vad)),
        ("judge", lambda: require_model_file(pins.judge)),
        ("asr", lambda: require_model_file(pins.asr)),
    )
    for role, find in checks:
        try:
            path = find()
        except InstrumentError as exc:
            code = NOT_EVALUATED
            say(f"{role}  {escape_terminal(str(exc))}")
        else:
            say(f"{role}  ok  {escape_terminal(str(path))}")
    return code
