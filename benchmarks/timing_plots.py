"""Error distributions as small SVG files, written by hand: no plotting library is needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["distribution_svg"]

#: One detector's line: colour and dash pattern, told apart without colour too.
_LINES = (("#0b4f9e", ""), ("#d2691e", "6 3"), ("#6b6b6b", "2 3"))
_TICKS_MS = (1, 3, 10, 30, 100, 300, 600)
_WIDTH, _HEIGHT, _COLUMNS = 250, 170, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 10, 24, 34
_HEADER = 46
_TEXT = "font-family='sans-serif' font-size='11' fill='#222'"


def _x(error_ms: float) -> float:
    """Return where an absolute error stands, logarithmic from 1 to 600 ms."""
    inner = _WIDTH - _LEFT - _RIGHT
    share = math.log(min(max(error_ms, 1), _TICKS_MS[-1])) / math.log(_TICKS_MS[-1])
    return _LEFT + inner * share


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)


def _curve(errors: Sequence[int], total: int) -> str:
    """Return the step line: which share of all `total` lies within each error."""
    points = [f"{_x(1):.1f},{_y(0):.1f}"]
    for rank, error in enumerate(np.sort(np.abs(errors)), start=1):
        x = _x(float(error))
        points += [f"{x:.1f},{_y((rank - 1) / total):.1f}", f"{x:.1f},{_y(rank / total):.1f}"]
    points.append(f"{_x(_TICKS_MS[-1]):.1f},{_y(len(errors) / total):.1f}")
    return " ".join(points)


def _axes(title: str) -> list[str]:
    parts = [f"<text x='{_LEFT}' y='{_TOP - 9}' {_TEXT} font-weight='bold'>{title}</text>"]
    for tick in _TICKS_MS:
        x = f"{_x(tick):.1f}"
        parts += [
            f"<line x1='{x}' x2='{x}' y1='{_y(1):.1f}' y2='{_y(0):.1f}' stroke='#ddd'/>",
            f"<text x='{x}' y='{_y(0) + 14:.1f}' {_TEXT} text-anchor='middle'>{tick}</text>",
        ]
    for percent in (0, 50, 95):
        y = _y(percent / 100)
        parts += [
            f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='#ddd'/>",
            f"<text x='{_LEFT - 5}' y='{y + 4:.1f}' {_TEXT} text-anchor='end'>{percent}%</text>",
        ]
    return parts


def distribution_svg(
    title: str, panels: Mapping[str, Mapping[str, tuple[Sequence[int], int]]]
) -> str:
    """Return a drawing of one panel a class and one line a detector.

    Parameters
    ----------
    title : str
    panels : mapping of class to mapping of detector to (errors in ms, how many there truly are)
        What was not found has no error, so a line ends below 100 % by the share not found.
    """
    detectors = list(next(iter(panels.values()))) if panels else []
    columns = max(1, min(_COLUMNS, len(panels)))
    width, height = columns * _WIDTH, _HEADER + -(-len(panels) // columns) * _HEIGHT
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img'>",
        f"<title>{title}</title><rect width='100%' height='100%' fill='#fff'/>",
        f"<text x='10' y='17' {_TEXT} font-weight='bold'>{title}</text>",
    ]
    for index, (name, (colour, dash)) in enumerate(zip(detectors, _LINES, strict=False)):
        x = 10 + index * 110
        parts.append(
            f"<line x1='{x}' x2='{x + 28}' y1='34' y2='34' stroke='{colour}' stroke-width='2' "
            f"stroke-dasharray='{dash}'/><text x='{x + 34}' y='38' {_TEXT}>{name}</text>"
        )
    for index, (name, lines) in enumerate(panels.items()):
        x, y = index % columns * _WIDTH, _HEADER + index // columns * _HEIGHT
        parts += [f"<g transform='translate({x},{y})'>", *_axes(name)]
        for (errors, total), (colour, dash) in zip(lines.values(), _LINES, strict=False):
            if total:
                parts.append(
                    f"<polyline points='{_curve(errors, total)}' fill='none' stroke='{colour}' "
                    f"stroke-width='1.6' stroke-dasharray='{dash}'/>"
                )
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])
