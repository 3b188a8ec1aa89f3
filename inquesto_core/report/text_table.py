"""A table of text columns for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.report.escape import clip_columns, display_width, escape_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["percent", "text_table"]

_WIDEST_CELL = 40


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of a table, the first column to the left, the others to the right.

    >>> text_table(("group", "n"), [("A", "10"), ("none told", "2")])
    ['group       n', 'A          10', 'none told   2']
    """
    cells = [
        [clip_columns(escape_terminal(cell), _WIDEST_CELL) for cell in row]
        for row in (header, *rows)
    ]
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(_padded(row, widths)).rstrip() for row in cells]


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    spaces = [" " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)]
    return [
        cell + space if at == 0 else space + cell
        for at, (cell, space) in enumerate(zip(row, spaces, strict=True))
    ]


def percent(part: int, whole: int) -> str:
    """Return ``12.5 % (1/8)``, or a dash where there is nothing to divide by."""
    return f"{100 * part / whole:.1f} % ({part}/{whole})" if whole else "-"
