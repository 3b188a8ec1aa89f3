"""What a written labelling sheet is, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.compare.halves import HALVES
from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from inquesto_core.compare.sheet_key import SheetKey

__all__ = ["sheet_lines"]


def sheet_lines(key: SheetKey, *, without_transcript: int) -> list[str]:
    """Return what was drawn, which half it is of, and who gets which file."""
    halves = key.items["half"].to_list()
    split = ", ".join(f"{halves.count(half)} {half}" for half in HALVES)
    lines = [
        f"Sheet {key.sheet}: {counted(len(key.shown), 'call')}, "
        f"{counted(key.items.height, 'question')} ({split})",
        "",
        f"{'Outcome':<34} calls  drawn",
    ]
    lines += [
        f"  {escape_terminal(name):<32} {calls:>5} {drawn:>6}" for name, calls, drawn in key.strata
    ]
    if without_transcript:
        lines += ["", f"Not drawn, without a transcript: {counted(without_transcript, 'call')}."]
    advice = (
        "Give the labellers the folder for_labellers and nothing else. Keep key.json: it says "
        "which call each item is, and the outcome it was drawn for."
    )
    return [*lines, "", *wrap_columns(advice, WIDTH)]
