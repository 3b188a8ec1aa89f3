"""Say how Sphinx builds the pages: `bin/docs`.

The pages are plain Markdown, to be read where they lie. The tables of docs/README.md become the
table of contents of the built pages, in their order.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent

project = "inquesto-core"
author = "The inquesto-core authors"
version = release = re.findall(
    r'(?m)^__version__ = "(.+)"$',
    (DOCS.parent / "inquesto_core" / "__init__.py").read_text("utf-8"),
)[0]

extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 4
highlight_language = "none"
smartquotes = False
nitpicky = True

html_theme = "furo"
html_title = f"inquesto-core {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False

#: A Markdown file of the project that is no page: the built pages bring a copy of it along.
OUTSIDE = re.compile(r"\]\((\.\./[^)#\s]+\.md)(?:#[^)\s]*)?\)")
SECTION = re.compile(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)")
PAGE = re.compile(r"(?m)^\| \[[^\]]+\]\(([\w-]+)\.md\)")


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Give the index a hidden table of contents: a caption a section, its pages in their order."""
    if page != app.config.root_doc:
        return
    for caption, text in SECTION.findall(source[0]):
        if pages := PAGE.findall(text):
            listed = "\n".join(pages)
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def bring_along(app: Sphinx, page: str, source: list[str]) -> None:
    """Make links to Markdown outside docs/ links to a copy."""
    source[0] = OUTSIDE.sub(r"](path:\1)", source[0])


def add_front_door(app: Sphinx, error: Exception | None) -> None:
    """Leave the index under the name that browsers and servers look for, too."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(
            Path(app.outdir, f"{app.config.root_doc}.html"), Path(app.outdir, "index.html")
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the steps above."""
    app.connect("source-read", add_contents)
    app.connect("source-read", bring_along)
    app.connect("build-finished", add_front_door)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
