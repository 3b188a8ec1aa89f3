"""The labelling sheet: one page that asks a person what the judge was asked, and its CSV.

The page asks nothing of the network (its policy forbids it), works by keyboard, and says nothing of
what any judge answered. Answers are kept in the browser and leave it by a download.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from inquesto_core.compare.labels import BY_ITEM
from inquesto_core.report.escape import escape_cell, escape_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["AskedItem", "SheetCall", "sheet_csv", "sheet_page"]

_CHOICES = (("true", "True"), ("false", "False"), ("unsure", "Unsure"))
_PLACE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedItem:
    """One question about a call: its item, its name, and its text in the rubric."""

    item: str
    question: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetCall:
    """One call as the sheet shows it.

    Parameters
    ----------
    identity : str
        What is told of who calls; may be empty.
    turns : tuple of (speaker, text)
        What was heard, in order; turns count from 0, as the judge's do.
    """

    goal: str
    identity: str
    turns: tuple[tuple[str, str], ...]
    items: tuple[AskedItem, ...]


def sheet_csv(items: Iterable[AskedItem]) -> str:
    """Return the empty answers as CSV with CRLF, a line an item in the sheet's order."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(BY_ITEM)
    for item in items:
        writer.writerow([escape_cell(item.item), escape_cell(item.question), "", "", ""])
    return out.getvalue()


def sheet_page(
    calls: Sequence[SheetCall], *, sheet: str, facts: Mapping[str, object], instructions: str
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    sheet : str
        Name of the sheet; the browser keeps its answers under it.
    facts : mapping
        The account record that the agent is held to.
    instructions : str
        What the judge is told about reading and answering.
    """
    style, script = _text("label_sheet.css"), _text("label_sheet.js")
    values = {
        "policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        "style": style,
        "script": script,
        "sheet": escape_html(sheet),
        "count": str(sum(len(call.items) for call in calls)),
        "calls": str(len(calls)),
        "facts": "\n".join(map(escape_html, _lines(facts))),
        "instructions": _paragraphs(instructions),
        "body": "\n".join(_call(at, call, len(calls)) for at, call in enumerate(calls, 1)),
    }
    return _PLACE.sub(lambda place: values[place[1]], _text("label_sheet.html"))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _lines(facts: Mapping[str, object]) -> list[str]:
    return json.dumps(facts, ensure_ascii=False, indent=2).split("\n")


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{escape_html(line)}</p>" for line in text.split("\n") if line.strip())


def _call(at: int, call: SheetCall, count: int) -> str:
    turns = "\n".join(
        f'<tr class="{"agent" if speaker == "agent" else "caller"}"><td>{turn}</td>'
        f'<th scope="row">{escape_html(speaker)}</th>'
        f'<td dir="auto">{escape_html(" ".join(text.split())) or "(nothing)"}</td></tr>'
        for turn, (speaker, text) in enumerate(call.turns)
    )
    who = f"<p><b>Who calls:</b> {escape_html(call.identity)}</p>" if call.identity.strip() else ""
    empty = "" if call.turns else "<p>The transcript is empty.</p>"
    questions = "\n".join(map(_question, call.items))
    return (
        f'<section aria-labelledby="call{at}">\n<h2 id="call{at}">Call {at} of {count}</h2>\n'
        f'<p><b>What the caller wants:</b> <span dir="auto">{escape_html(call.goal)}</span></p>\n'
        f"{who}\n<table><caption>Transcript: turn, who speaks, what was heard</caption>\n"
        f"<tbody>\n{turns}\n</tbody></table>{empty}\n{questions}\n</section>"
    )


def _question(item: AskedItem) -> str:
    first, _, criteria = item.text.strip().partition("\n")
    title = escape_html(first.removeprefix("Question: "))
    choices = "\n".join(
        f'<label><input type="radio" name="{item.item}" value="{value}"> {shown}</label>'
        for value, shown in _CHOICES
    )
    return (
        f'<fieldset data-item="{item.item}" data-question="{escape_html(item.question)}">\n'
        f"<legend>{title}</legend>\n{_paragraphs(criteria)}\n"
        f'<div class="choices">{choices}</div>\n'
        f'<label class="note">Note <input type="text" maxlength="500"></label>\n</fieldset>'
    )
