"""Check the samples in the pages: JSON parses, commands take those options, Python names exist."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

import inquesto_core
from inquesto_core.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[1]
PROGRAM = "inquesto-core"
PACKAGE = "inquesto_core"

FENCED = re.compile(r"(?ms)^( *)(```+|~~~+)([\w-]*)[^\n]*\n(.*?)^\1\2 *$")
INDENTED = re.compile(r"(?m)(?:^(?: {4}\S.*)\n)+")
#: Blocks in which commands are typed; in any other block, lines that begin with a prompt.
SHELL = {"", "sh", "bash", "console"}
#: What only a usage line holds; its options are looked up, and it is not parsed.
USAGE = re.compile(r"[\[\]…]|\.\.\.")
END_OF_COMMAND = {"|", "||", "&&", ";", ">", ">>", "<", "2>", "&"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A code block: its language, and where it begins."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced code blocks of a page, then the indented ones."""
    for found in FENCED.finditer(page):
        text = textwrap.dedent(found[4])
        yield Block(language=found[3], text=text, line=page.count("\n", 0, found.start()) + 2)
    rest = FENCED.sub(lambda found: "\n" * found[0].count("\n"), page)
    for found in INDENTED.finditer(rest):
        line = rest.count("\n", 0, found.start()) + 1
        yield Block(language="", text=textwrap.dedent(found[0]), line=line)


def wrong_samples(page: str) -> Iterator[tuple[int, str]]:
    """Yield line and fault of every sample of a page that cannot be right."""
    for block in blocks(page):
        if block.language == "json":
            yield from _wrong_json(block)
        elif block.language == "python":
            yield from _wrong_python(block)
        elif block.language in SHELL:
            yield from _wrong_shell(block)


def _wrong_json(block: Block) -> Iterator[tuple[int, str]]:
    """Yield what is no JSON value, nor some members of an object."""
    faults = []
    for text in (block.text, "{" + block.text + "}"):
        try:
            json.loads(text)
        except ValueError as error:
            faults.append(str(error))
        else:
            return
    yield block.line, f"the JSON does not parse: {faults[0]}"


def _wrong_shell(block: Block) -> Iterator[tuple[int, str]]:
    text = re.sub(r"\\\n", "  ", block.text)
    for number, line in enumerate(text.splitlines()):
        for words in typed(line):
            for fault in wrong_command(words):
                yield block.line + number, f"`{' '.join(words)[:60]}`: {fault}"


def typed(line: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line that calls a program of this project."""
    try:
        words = shlex.split(re.sub(r"^\$ ", "", line.strip()), comments=True)
    except ValueError:
        words = line.split()
    command: list[str] = []
    for word in [*words, ";"]:
        ends = word in END_OF_COMMAND
        if not ends:
            command.append(word)
            continue
        while command and re.fullmatch(r"[A-Z_]+=.*", command[0]):
            command.pop(0)
        if command and (command[0] in (PROGRAM, f"bin/{PROGRAM}") or command[0].startswith("bin/")):
            yield command
        command = []


def wrong_command(words: list[str]) -> Iterator[str]:
    """Yield what is wrong with one command: the program, a command's name, an option, a value."""
    program, *rest = words
    if program.startswith("bin/") and not (PROJECT / program).is_file():
        yield f"{program} is not there"
    if Path(program).name != PROGRAM:
        return
    command: click.Command = cli
    context = click.Context(cli, info_name=PROGRAM)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        below = command.get_command(context, name)
        if below is None:
            if not USAGE.search(name) and name.islower() and "|" not in name:
                yield f"there is no command {name}"
            return
        command, context = below, click.Context(below, parent=context, info_name=name)
    if USAGE.search(" ".join(rest)):
        yield from _unknown_options(command, context, rest)
    elif "--help" not in rest and "--version" not in rest:
        yield from _unparsed(command, context, rest)


def _unknown_options(
    command: click.Command, context: click.Context, words: list[str]
) -> Iterator[str]:
    known = {option for parameter in command.get_params(context) for option in parameter.opts}
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", " ".join(words)):
        if option not in known:
            yield f"there is no option {option}"


def _unparsed(command: click.Command, context: click.Context, words: list[str]) -> Iterator[str]:
    """Yield what the command's own parser refuses; files need not be there."""
    try:
        given, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        yield error.format_message()
        return
    if left:
        yield f"takes no further {left[0]}"
    for parameter in command.get_params(context):
        value = given.get(parameter.name or "")
        is_given = (
            parameter.name in given and value not in (None, ()) and "UNSET" not in repr(value)
        )
        if parameter.required and not is_given:
            yield f"lacks {parameter.human_readable_name}"
        values = value if isinstance(value, (list, tuple)) else [value]
        if isinstance(parameter.type, click.Choice) and is_given:
            for unknown in set(values) - set(parameter.type.choices):
                yield f"{parameter.opts[0]} does not take {unknown}"


def _wrong_python(block: Block) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(block.text)
    except SyntaxError as error:
        yield block.line + (error.lineno or 1) - 1, f"the Python does not parse: {error.msg}"
        return
    for node in ast.walk(tree):
        line = block.line + getattr(node, "lineno", 1) - 1
        for fault in _wrong_names(node):
            yield line, fault


def _wrong_names(node: ast.AST) -> Iterator[str]:
    """Yield imports that lead nowhere, and functions of the package called as they are not."""
    if isinstance(node, ast.Import):
        yield from (fault for name in node.names for fault in _missing_module(name.name))
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from _missing_module(node.module)
        if node.module.partition(".")[0] == PACKAGE:
            held = top_names(node.module)
            for name in node.names:
                if name.name not in held and not _is_module(f"{node.module}.{name.name}"):
                    yield f"{node.module} has no {name.name}"
    elif isinstance(node, ast.Call):
        yield from _wrong_call(node)


def _missing_module(name: str) -> Iterator[str]:
    top = name.partition(".")[0]
    if not (_is_module(name) if top == PACKAGE else importlib.util.find_spec(top)):
        yield f"there is no module {name}"


def _file_of(module: str) -> Path:
    path = PROJECT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _is_module(name: str) -> bool:
    return _file_of(name).is_file()


@cache
def top_names(module: str) -> dict[str, ast.stmt]:
    """Return what a module of the package defines and imports at its top; nothing is imported."""
    held: dict[str, ast.stmt] = {}
    if not _is_module(module):
        return held
    body = ast.parse(_file_of(module).read_bytes()).body
    # What is loaded when it is asked for stands under `if TYPE_CHECKING`.
    lazy = [inner for node in body if isinstance(node, ast.If) for inner in node.body]
    for node in [*lazy, *body]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            held[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            held |= {name.asname or name.name: node for name in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            held |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return held


def _definition(module: str, name: str) -> ast.FunctionDef | None:
    """Return a function's definition, through the modules that only import it."""
    node = top_names(module).get(name)
    if isinstance(node, ast.ImportFrom) and node.module:
        return _definition(node.module, name)
    return node if isinstance(node, ast.FunctionDef) else None


def _wrong_call(node: ast.Call) -> Iterator[str]:
    function = node.func
    if not (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == PACKAGE
    ):
        return
    module = inquesto_core._FUNCTIONS.get(function.attr)
    defined = None if module is None else _definition(module, function.attr)
    if defined is None:
        yield f"{PACKAGE} has no function {function.attr}"
        return
    taken = {argument.arg for argument in (*defined.args.args, *defined.args.kwonlyargs)}
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in taken:
            yield f"{PACKAGE}.{function.attr} takes no {keyword.arg}"
