"""An evidence store in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.evidence.store_summary import Part

__all__ = ["pruned_text", "stats_text"]

_PIN = 12


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _lines(parts: Sequence[Part]) -> list[str]:
    rows = [
        (part.kind, part.made_by[:_PIN], f"{part.entries:,}", f"{part.calls:,}", _size(part.size))
        for part in parts
    ]
    heads = ("kind", "made by", "entries", "calls", "size")
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def stats_text(parts: Sequence[Part]) -> str:
    """Return what a store holds, a line a kind and pin."""
    return "\n".join(_lines(parts)) if parts else "the store is empty"


def pruned_text(parts: Sequence[Part], *, is_dry: bool) -> str:
    """Return what a pruning takes out, or would."""
    if not parts:
        return "nothing to take out: every entry is of a pinned instrument"
    return "\n".join(["would take out:" if is_dry else "taken out:", *_lines(parts)])
