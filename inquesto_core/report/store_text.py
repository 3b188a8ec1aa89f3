"""An evidence store in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.evidence.store_summary import Part, Summary

__all__ = ["forgotten_text", "pruned_text", "stats_text"]

_PIN = 12
#: Characters of a file's name, and names at most.
_NAME = 12
_NAMED = 5


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


def _unreadable(damaged: int) -> list[str]:
    if not damaged:
        return []
    what = "1 file is not what was written, and its entries are"
    if damaged > 1:
        what = f"{damaged} files are not what was written, and their entries are"
    return [f"{what} not counted here: `store verify` names them and keeps what is whole"]


def stats_text(summary: Summary) -> str:
    """Return what a store holds, a line a kind and pin."""
    if not summary.parts and not summary.damaged:
        return "the store is empty"
    lines = _lines(summary.parts) if summary.parts else []
    return "\n".join([*lines, *_unreadable(summary.damaged)])


def pruned_text(parts: Sequence[Part], *, is_dry: bool, damaged: int = 0) -> str:
    """Return what a pruning takes out, or would."""
    if not parts:
        readable = "readable " if damaged else ""
        lines = [f"nothing to take out: every {readable}entry is of a pinned instrument"]
    else:
        lines = ["would take out:" if is_dry else "taken out:", *_lines(parts)]
    return "\n".join([*lines, *_unreadable(damaged)])


def forgotten_text(erased: int, *, damaged: Sequence[str], was_forgotten: bool) -> str:
    """Return what erasing a call took out of a store."""
    lines = [f"{erased} entr{'y' if erased == 1 else 'ies'} erased"]
    if erased == 0 and was_forgotten:
        lines = ["nothing erased: the call was forgotten here before"]
    elif erased == 0 and damaged:
        lines = ["nothing that can be read was held under that id"]
    elif erased == 0:
        lines = ["nothing erased: the store held nothing under that id; check its spelling"]
    lines[0] += "; a call of that id is not kept here again"
    if damaged:
        files = "1 damaged file" if len(damaged) == 1 else f"{len(damaged)} damaged files"
        named = ", ".join(name[:_NAME] for name in damaged[:_NAMED])
        named += f" and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
        lines.append(
            f"{files} deleted, which may have held it ({named}): what was still whole in there of "
            "other calls is kept, the rest is measured again when it is asked for"
        )
    return "\n".join(lines)
