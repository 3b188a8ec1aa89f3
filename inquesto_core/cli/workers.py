"""The options that say who works, the same for every command that has work to share out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["executor_options", "workers_of"]

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=None,
        help="Processes, or actors on Ray; default: one for each processor.",
    ),
    click.option(
        "--executor",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Who works: processes of this machine, or a Ray cluster (extra `ray`).",
    ),
    click.option(
        "--address",
        default=None,
        help="A running Ray cluster: auto or HOST:PORT; default: one of this machine, for this "
        "run.",
    ),
)


def executor_options(command: Command) -> Command:
    """Give a command ``--workers``, ``--executor`` and ``--address``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def workers_of(workers: int | None, executor: str, address: str | None) -> int:
    """Return how many workers were asked for; 0 = as many as a cluster has processors."""
    if address is not None and executor != "ray":
        raise click.UsageError("--address goes with --executor ray")
    if workers is not None:
        return workers
    return (os.cpu_count() or 1) if executor == "local" else 0
