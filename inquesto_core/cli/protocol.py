"""``inquesto-core protocol``."""

from __future__ import annotations

import click

from inquesto_core.cli.output import say

__all__ = ["command"]


@click.group("protocol")
def command() -> None:
    """List, show and compare protocols."""


@command.command("list")
def list_() -> None:
    """Name the protocols that this version knows."""
    from inquesto_core.protocol import load_any_protocol, protocol_names

    for name in protocol_names():
        law = load_any_protocol(name)
        say(f"{law.name}  {law.status}  sha256:{law.digest}")


@command.command("show")
@click.argument("name", default="inquesto-0.1")
def show(name: str) -> None:
    """Print a protocol as JSON."""
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.protocol import load_any_protocol

    say(pretty_bytes(load_any_protocol(name).raw).decode(), newline=False)


@command.command("diff")
@click.argument("first")
@click.argument("second")
def diff(first: str, second: str) -> None:
    """Print what changes from one protocol to another."""
    from inquesto_core.protocol import diff_protocols, load_any_protocol
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    changes = diff_protocols(load_any_protocol(first), load_any_protocol(second))
    for change in changes:
        say(escape_terminal(f"{change.pointer}: {change.before} -> {change.after}"))
    say(counted(len(changes), "change"))
