"""The report of a run as one page that asks nothing of the network; its policy forbids it.

The page is made of a template, which writes the records, and of data, which scripts draw when it is
looked at: the table of calls as columns, and the pages of calls in blocks, each compressed. Style
and scripts are in the page, and named in its policy by their digests, so that nothing else runs.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_terminal
from inquesto_core.report.html_packing import pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PAGES_A_BLOCK", "ReportParts", "report_page"]

#: Pages of calls that are compressed together.
PAGES_A_BLOCK = 24

_FOLDER = "page"
_SCRIPTS = ("dom.js", "timeline.js", "call.js", "table.js", "report.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportParts:
    """All that a report shows.

    Parameters
    ----------
    agents : tuple of dict
        As `html_record.agent_view` gives them.
    columns : dict
        As `html_calls.call_columns` gives them.
    blocks : tuple of str
        Pages of calls by place in the table, packed.
    clips : dict
        Place of a call to its clips: ``from``, ``to``, ``label``, and ``data``, the place of its
        sound in `sounds`, or ``file``, where it lies beside the page.
    sounds : tuple of bytes
        Ogg Opus.
    notes : tuple of str
        What was left out of the report, and why, as sentences.
    protocol : dict
        ``name``, ``version``, ``digest``, ``severities``.
    facts : tuple of (str, str)
        Where the report comes from.
    """

    agents: tuple[Mapping[str, Any], ...]
    columns: Mapping[str, Any]
    blocks: tuple[str, ...]
    clips: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    sounds: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()
    protocol: Mapping[str, Any]
    facts: tuple[tuple[str, str], ...] = ()
    redacted: bool = False
    has_files: bool = False


def report_page(parts: ReportParts) -> str:
    """Return the page as HTML."""
    style, script = _text("report.css"), _script()
    media = "blob: 'self'" if parts.has_files else "blob:"
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; media-src {media}"
    )
    columns = {**parts.columns, "agents": [agent["name"] for agent in parts.agents]}
    return str(
        _template().render(
            parts=parts,
            policy=policy,
            style=_trusted(style),
            script=_trusted(script),
            columns=_trusted(pack(columns)),
            blocks=[_trusted(block) for block in parts.blocks],
            clips=_trusted(pack({str(place): held for place, held in parts.clips.items()})),
            sounds=[_trusted(base64.b64encode(sound).decode("ascii")) for sound in parts.sounds],
        )
    )


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(_FOLDER, name).read_text("utf-8")


def _script() -> str:
    """Return the scripts as one function, so that their names meet no others."""
    body = "\n".join(map(_text, _SCRIPTS))
    return f'(() => {{\n"use strict";\n{body}}})();\n'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _trusted(text: str) -> Any:
    """Return text of our own, or base64, as what the template does not escape."""
    from markupsafe import Markup

    return Markup(text)


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(_text),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters["percent"] = _percent
    environment.filters["ms"] = _ms
    return environment.get_template("report.html")


def _finalize(value: Any) -> Any:
    """Show what steers or hides text as an escape; absent is a dash."""
    from markupsafe import Markup

    if value is None:
        return "–"
    if isinstance(value, str) and not isinstance(value, Markup):
        return "\n".join(map(escape_terminal, value.split("\n")))
    return value


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")
