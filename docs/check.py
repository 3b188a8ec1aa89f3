"""Check that the pages are whole: links resolve, samples are right, nothing is left out.

Every command and problem code is described, docs/commands.md is what the commands say, the index
lists every page.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

import commands as command_page  # noqa: E402 - docs/commands.py, wherever this is started
from check_samples import wrong_samples  # noqa: E402

from inquesto_core.cli import cli  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[1]
PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md")])
#: Where a command may be described.
COMMAND_PAGES = [
    page
    for page in PAGES
    if page.name == "README.md" or (page.parent.name == "docs" and page != command_page.PAGE)
]
#: Where a problem code may be described.
PROBLEM_PAGES = ("docs/problems.md", "docs/audio.md")
MODULES = "inquesto_core/**/*.py"

LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
CODE_BLOCK = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+?)(?: #*)?$", re.MULTILINE)


def broken_links() -> Iterator[str]:
    """Yield one line a relative link that leads to no file of the project, or no heading of it."""
    for page in PAGES:
        text = CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in LINK.findall(text):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            file = page.parent / name if name else page
            where = f"{page.relative_to(PROJECT)}: the link to {target}"
            if not file.resolve().is_relative_to(PROJECT) or not file.exists():
                yield f"{where} leads nowhere"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield f"{where} names no heading of {file.name}"


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as Git hosts and MyST make them."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    again = {f"{slug}-{n}" for slug, most in found.items() for n in range(1, most + 1)}
    return frozenset(found.keys() | again)


def unlisted_pages() -> Iterator[str]:
    """Yield one line a page of docs/ that the index does not list."""
    index = (PROJECT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in sorted(PROJECT.glob("docs/*.md")):
        if page.name != "README.md" and f"\n| [{page.name}]({page.name}) |" not in index:
            yield f"docs/README.md does not list {page.name} in a table"


def faulty_samples() -> Iterator[str]:
    """Yield one line a code block that cannot be right."""
    for page in PAGES:
        for line, fault in wrong_samples(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(PROJECT)}:{line}: {fault}"


def stale_command_page() -> Iterator[str]:
    """Yield a line if docs/commands.md is not what the commands say."""
    if command_page.PAGE.read_text(encoding="utf-8") != command_page.page():
        yield "docs/commands.md is stale: `python docs/commands.py` writes it"


def undescribed_commands() -> Iterator[str]:
    """Yield one line a command that no page names; none at all is wrong too."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in COMMAND_PAGES)
    named = [name for name, _ in command_page.commands(cli)]
    if not named:
        yield "inquesto-core --help lists no command"
    for command in named:
        # `protocol list|show|diff` names three commands.
        *above, name = command.split()
        before = "".join(rf"{word}\s+" for word in above)
        if not re.search(rf"(?<![\w-]){before}(?:[\w-]+\|)*{name}(?![\w-])", text):
            yield f"no page names the command `inquesto-core {command}`"


def emitted_codes() -> dict[str, str]:
    """Return every problem code that the package can emit, as a pattern, and where it stands.

    A code is what is given as ``code`` to `Problem` or to any function of the package that has a
    parameter of that name: a text, either of two, a constant, or a pattern such as
    ``[a-z0-9_]+_unparseable`` where a part of it is only known when it happens.
    """
    trees = {path: ast.parse(path.read_bytes()) for path in sorted(PROJECT.glob(MODULES))}
    takes_code: dict[str, int] = {}
    constants: dict[str, list[ast.expr]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in node.args.args if argument.arg != "self"]
                if "code" in names:
                    takes_code[node.name] = names.index("code")
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants.setdefault(node.targets[0].id, []).append(node.value)
    found = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in takes_code and len(node.args) > takes_code[name]:
                given.append(node.args[takes_code[name]])
            for value in given:
                for code in _texts(value, constants):
                    found.setdefault(code, f"{path.relative_to(PROJECT)}:{node.lineno}")
    return found


def _texts(value: ast.expr, constants: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Yield the texts that an expression can be, as patterns."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield re.escape(value.value)
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body, constants)
        yield from _texts(value.orelse, constants)
    elif isinstance(value, ast.JoinedStr):
        parts = (getattr(part, "value", None) for part in value.values)
        yield "".join(re.escape(p) if isinstance(p, str) else "[a-z0-9_]+" for p in parts)
    elif isinstance(value, ast.Name):
        for assigned in constants.get(value.id, ()):
            if not isinstance(assigned, ast.Name):
                yield from _texts(assigned, constants)


def undescribed_problems() -> Iterator[str]:
    """Yield one line a code that is emitted and not listed, or listed and never emitted."""
    pages = {page: (PROJECT / page).read_text(encoding="utf-8") for page in PROBLEM_PAGES}
    described = set(re.findall(r"`([a-z0-9_]+)`", "\n".join(pages.values())))
    codes = emitted_codes()
    for code, place in codes.items():
        if not any(re.fullmatch(code, name) for name in described):
            yield f"{place}: {' and '.join(PROBLEM_PAGES)} do not list `{code}`"
    listed = re.findall(r"(?m)^\| ((?:`[a-z0-9_]+`(?:, )?)+) \|", pages[PROBLEM_PAGES[0]])
    for name in re.findall(r"`([a-z0-9_]+)`", "\n".join(listed)):
        if not any(re.fullmatch(code, name) for code in codes):
            yield f"{PROBLEM_PAGES[0]}: nothing emits `{name}`"


def main() -> int:
    """Print what is wrong, one line each; 1 if anything is."""
    wrong = [
        *broken_links(),
        *unlisted_pages(),
        *faulty_samples(),
        *stale_command_page(),
        *undescribed_commands(),
        *undescribed_problems(),
    ]
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
