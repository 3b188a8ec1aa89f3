"""What a line tells the user to type works in this version."""

from __future__ import annotations

import ast
import re

import click

from inquesto_core import cli
from inquesto_core.engine.judging import needs_model

#: Values of `--judge` that `engine.score` takes, a path left out; it refuses every other.
JUDGES = {"auto", "recorded", "none", "pinned", "gguf"}


def texts(project):
    """Yield every text of the package that is no docstring."""
    for module in sorted((project / "inquesto_core").rglob("*.py")):
        tree = ast.parse(module.read_bytes())
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docstrings:
                yield module.name, node.value


def commands(group, above=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield (*above, name), found
        if isinstance(found, click.Group):
            yield from commands(found, (*above, name))


COMMANDS = dict(commands(cli.cli))
OPTIONS = {
    option
    for found in COMMANDS.values()
    for parameter in found.params
    for option in parameter.opts
    if option.startswith("--")
}


def test_every_option_that_a_text_names_is_one_of_a_command(project):
    named = {
        (file, option)
        for file, text in texts(project)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)
    }
    assert named
    assert {(file, option) for file, option in named if option not in OPTIONS} == set()


def test_every_command_that_a_text_names_is_there(project):
    named = {
        (file, name)
        for file, text in texts(project)
        for name in re.findall(r"inquesto-core ([a-z]+)\b(?!-)", text)
    }
    assert named
    assert {(file, name) for file, name in named if (name,) not in COMMANDS} == set()


def test_every_judge_that_a_text_names_is_one_that_can_be_asked(project):
    named = {name for _, text in texts(project) for name in re.findall(r"--judge ([a-z]+)", text)}
    assert named
    assert named <= JUDGES


def test_the_help_names_every_judge_that_is_taken():
    (option,) = (each for each in COMMANDS["score",].params if each.name == "judge")
    assert all(judge in option.help for judge in JUDGES)
    assert all(needs_model(judge) is False for judge in ("auto", "recorded", "none"))
    assert needs_model("pinned")
    assert needs_model("gguf:PATH")
