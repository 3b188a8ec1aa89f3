"""``inquesto-core leaderboard``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from inquesto_core.cli.cost_options import BUNDLES, COSTS
from inquesto_core.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from inquesto_core.compare.leaderboard import Leaderboard

__all__ = ["command"]

#: By these files are known that an earlier leaderboard wrote.
_MARKDOWN, _CSV = "| Agent | IS | 95% CI |", "agent,source,kind,score,"
_FIGURE = "<title>Completion against"
_FILE = click.Path(dir_okay=False)


@click.command("leaderboard")
@click.argument(
    "sources", nargs=-1, required=True, metavar="RUN_OR_RECORD...", type=click.Path(exists=True)
)
@click.option("--markdown", default=None, type=_FILE, help="Write the tables as Markdown.")
@click.option("--csv", "as_csv", default=None, type=_FILE, help="Write a row a record as CSV.")
@click.option(
    "--figure",
    default=None,
    type=_FILE,
    help="Write completion against latency and cost as SVG.",
)
@COSTS
@BUNDLES
@click.option("--json", "as_json", is_flag=True, help="Print the leaderboard as JSON.")
def command(
    sources: tuple[str, ...],
    markdown: str | None,
    as_csv: str | None,
    figure: str | None,
    costs: str | None,
    bundles: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show many records as one table: scores, overlapping intervals, order under other readings.

    RUN_OR_RECORD is a record's JSON file, a run folder, an archive of these, or a folder of any of
    them. All records are of one protocol and population.
    """
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.engine.leaderboard import leaderboard
    from inquesto_core.report.leaderboard_text import board_document, board_lines

    board = leaderboard(sources, costs=costs, bundles=bundles)
    for line in board_lines(board):
        say(line, err=as_json)
    if as_json:
        say(pretty_bytes(board_document(board)).decode(), newline=False)
    _write_files(board, markdown=markdown, as_csv=as_csv, figure=figure)


def _write_files(
    board: Leaderboard, *, markdown: str | None, as_csv: str | None, figure: str | None
) -> None:
    from inquesto_core.places import write_text
    from inquesto_core.report.leaderboard_files import board_csv, board_figure, board_markdown

    wanted: tuple[tuple[str | None, Callable[[Leaderboard], str], str], ...] = (
        (markdown, board_markdown, _MARKDOWN),
        (as_csv, board_csv, _CSV),
        (figure, board_figure, _FIGURE),
    )
    for path, text, mark in wanted:
        if path is not None:
            write_text(path, text(board), mark=mark)
