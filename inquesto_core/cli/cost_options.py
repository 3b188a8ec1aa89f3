"""Where what calls cost is told, the same for every command that reads it."""

from __future__ import annotations

import click

__all__ = ["BUNDLES", "COSTS"]

COSTS = click.option(
    "--costs",
    default=None,
    type=click.Path(exists=True, dir_okay=False),
    help="JSON Lines or CSV: call_id, cost, currency.",
)
BUNDLES = click.option(
    "--bundles",
    multiple=True,
    type=click.Path(exists=True),
    help="The runs' bundles, whose tags `cost` and `cost_currency` tell what a call cost.",
)
