"""The option that lets a command reach what is not on this machine."""

from __future__ import annotations

import click

__all__ = ["ALLOW_REMOTE"]

ALLOW_REMOTE = click.option(
    "--allow-remote",
    multiple=True,
    metavar="SCHEME[,SCHEME]",
    help="Let locations of these schemes be reached (s3, gs, ...); default: none.",
)
