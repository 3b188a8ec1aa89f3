"""``inquesto-core validate``."""

from __future__ import annotations

from dataclasses import asdict

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

__all__ = ["command"]


@click.command("validate")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
@ALLOW_REMOTE
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def command(
    sources: tuple[str, ...], protocol: str, allow_remote: tuple[str, ...], as_json: bool
) -> int:
    """Check call bundles without scoring them: one line a problem, one a kind of inferred field."""
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import BAD_INPUT
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    told = engine.validate(sources, protocol=protocol, allow_remote=allow_remote)
    problems = told.problems
    if as_json:
        document = {
            "bundles": told.bundles,
            "inferred": [asdict(kind) for kind in told.inferred],
            "problems": [asdict(problem) for problem in problems],
        }
        say(pretty_bytes(document).decode(), newline=False)
    for problem in problems:
        say(escape_terminal(f"{problem.level}: {problem}"), err=as_json)
    for kind in told.inferred:
        say(escape_terminal(kind.line()), err=as_json)
    errors = sum(problem.level == "error" for problem in problems)
    counts = f"{counted(errors, 'error')}, {counted(len(problems) - errors, 'warning')}"
    say(f"{counted(told.bundles, 'bundle')}: {counts}", err=as_json)
    return BAD_INPUT if errors else 0
