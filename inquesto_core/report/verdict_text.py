"""The answers about a call, as lines of text: how sure the judge was, and what it wrote.

A verdict is *fragile* where the probabilities of the two words differ by less than the protocol's
margin, as a share of their sum. What a judge of this run wrote is shown whole where it is no
answer; else verdict, turn and reason are all of it, and the facts keep the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.reasons import UNDETERMINED
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["answer_words", "giver_texts", "verdict_lines", "verdict_margin"]

_SAYS = {True: "yes", False: "no", None: "undetermined"}
_ASKED = {
    "recorded": "stored with the call, not asked of a judge in this run",
    "judge": "asked of the judge in this run",
}

#: Said of answers of another model than the protocol's.
NOT_PINNED = "; not the judge that the protocol pins: no measurement under it"

Row = dict[str, Any]


def verdict_margin(row: Mapping[str, Any]) -> float | None:
    """Return by how much the likelier word leads, as a share of both; None = not known.

    >>> verdict_margin({"p_true": 0.75, "p_false": 0.25})
    0.5
    """
    yes, no = row["p_true"], row["p_false"]
    if yes is None or no is None or yes + no <= 0:
        return None
    return float(abs(yes - no) / (yes + no))


def _wrap(text: str, *, first: str = "  ", rest: str = "    ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def answer_words(row: Row) -> str:
    """Return yes, no, or that and why there is no answer."""
    why = row["undetermined"]
    left_open = f" ({why}: {UNDETERMINED.get(why, 'no reason is known')})" if why else ""
    return f"{_SAYS[row['verdict']]}{left_open}"


def _answer_lines(row: Row, fragile_margin: float) -> Iterator[str]:
    turn = "" if row["turn"] is None else f" (L{row['turn']})"
    why = row["undetermined"]
    reason = f": {row['reason']}" if row["reason"] else ""
    yield from _wrap(f"{row['question']} {answer_words(row)}{turn}{reason}")
    if row["margin"] is not None:
        limit = f"{'FRAGILE, less than' if row['fragile'] else 'limit'} {fragile_margin:g}"
        yield from _wrap(
            f"p(true) {row['p_true']:.3g}, p(false) {row['p_false']:.3g}; "
            f"margin {row['margin']:.3f} of both ({limit})",
            first="      ",
            rest="      ",
        )
    if why and row["raw"]:
        yield from _wrap(row["raw"], first="      wrote  ", rest=" " * 13)


def giver_texts(facts: Mapping[str, Any]) -> list[str]:
    """Return whose answers they are."""
    givers = {(row["source"], row["model"], row["pinned"]) for row in facts["verdicts"]}
    return [
        f"by {model or 'a judge that is not named'}, {_ASKED.get(source, source)}"
        + (NOT_PINNED if pinned is False else "")
        for source, model, pinned in sorted(givers, key=str)
    ]


def verdict_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the answers about the call, each with its reason, then whose they are."""
    limit = facts["limits"]["fragile_margin"]
    lines = [line for row in facts["verdicts"] for line in _answer_lines(row, limit)]
    return lines + [line for text in giver_texts(facts) for line in _wrap(text)]
