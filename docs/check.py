"""Check that the pages are whole: links resolve, commands and problem codes are described."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[1]
PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
#: Where a command may be described.
COMMAND_PAGES = [page for page in PAGES if page.name == "README.md" or page.parent.name == "docs"]
#: Where a problem code may be described.
PROBLEM_PAGES = ("docs/problems.md", "docs/audio.md")

LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^Commands:\n((?:^(?: .*)?\n)*)", re.MULTILINE)


def broken_links() -> Iterator[str]:
    """Yield one line a relative link that leads to no file of the project."""
    for page in PAGES:
        text = CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in LINK.findall(text):
            if re.match(r"[a-z][a-z0-9+.-]*:|#", target):
                continue
            file = page.parent / target.partition("#")[0]
            if not file.resolve().is_relative_to(PROJECT) or not file.exists():
                yield f"{page.relative_to(PROJECT)}: the link to {target} leads nowhere"


def commands(*above: str) -> Iterator[str]:
    """Yield every command below `above`, as a user types it, from the help texts."""
    run = subprocess.run(
        [sys.executable, "-P", "-m", "inquesto_core", *above, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "COLUMNS": "100", "NO_COLOR": "1"},
    )
    listed = COMMANDS.search(run.stdout)
    for name in re.findall(r"^  ([a-z][\w-]*)", listed[1], re.MULTILINE) if listed else []:
        yield " ".join([*above, name])
        yield from commands(*above, name)


def undescribed_commands() -> Iterator[str]:
    """Yield one line a command that no page names; none at all is wrong too."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in COMMAND_PAGES)
    named = list(commands())
    if not named:
        yield "inquesto-core --help lists no command"
    for command in named:
        # `protocol list|show|diff` names three commands.
        *above, name = command.split()
        before = "".join(rf"{word}\s+" for word in above)
        if not re.search(rf"(?<![\w-]){before}(?:[\w-]+\|)*{name}(?![\w-])", text):
            yield f"no page names the command `inquesto-core {command}`"


def undescribed_problems() -> Iterator[str]:
    """Yield one line a problem code of the package that the problem pages do not list."""
    pages = [PROJECT / page for page in PROBLEM_PAGES]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages if page.is_file())
    described = set(re.findall(r"`([a-z0-9_]+)`", text))
    for module in sorted(PROJECT.glob("inquesto_core/**/*.py")):
        for node in ast.walk(ast.parse(module.read_bytes())):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Problem"):
                continue
            for keyword in node.keywords:
                code = getattr(keyword.value, "value", None)
                if keyword.arg == "code" and isinstance(code, str) and code not in described:
                    place = f"{module.relative_to(PROJECT)}:{node.lineno}"
                    yield f"{place}: {' and '.join(PROBLEM_PAGES)} do not list `{code}`"


def main() -> int:
    """Print what is wrong, one line each; 1 if anything is."""
    wrong = [*broken_links(), *undescribed_commands(), *undescribed_problems()]
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
