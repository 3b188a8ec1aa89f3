"""The command line: parse, call one library function, print, map errors to exit codes.

Commands are imported when they are called, so that ``--help`` loads no table or model library.
"""

from __future__ import annotations

import importlib
import keyword
import sys
from typing import Any

import click

from inquesto_core import __version__
from inquesto_core.errors import InquestoError

__all__ = ["main"]

#: Command, its module in this package, and its one-line help.
COMMANDS = {
    "score": "Score call bundles and write a run folder.",
    "rescore": "Reduce a stored run under another protocol; what changed, call by call.",
    "validate": "Check call bundles without scoring them.",
    "import": "Turn a platform's exports into call bundles.",
    "explain": "Show one call of a run: timeline, events, trace, verdicts.",
    "report": "Write a run as one page to read in a browser, without network.",
    "compare": "Compare agent B with agent A on the same calls; gates for a release.",
    "leaderboard": "Show many records as one table: scores, overlaps, order under other readings.",
    "sample": "Draw calls for people to review, weigh their answers; cut regression sets.",
    "judge": "Compare a judge with people and other judges; labelling sheets.",
    "recognition": "Show how well callers were understood: word error, entities, denials.",
    "extraction": "Show extracted fields beside reviewed ones: right, wrong, missing, invalid.",
    "outcomes": "Show where failed calls first depart; hand-overs, delivery, cost, waiting.",
    "keygen": "Make a key pair to seal runs with.",
    "seal": "Sign a run: its records, and the digests of all they were made of.",
    "verify": "Check a run by numbered checks: signatures, digests, re-derivation.",
    "redact": "Make bundles that can be shared: timing and outcomes, no words, no sound.",
    "models": "Show and verify the pinned model files.",
    "protocol": "List, show and compare protocols.",
    "store": "Look after an evidence store: stats, verify, prune, forget.",
}


class LateGroup(click.Group):
    """A group that imports a command's module when the command is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in their order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"inquesto_core.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LateGroup)
@click.version_option(__version__, prog_name="inquesto-core")
def cli() -> None:
    """Score recorded voice-agent calls, offline and reproducibly.

    Exit codes: 0 done; 1 a gate or verification failed; 2 usage; 3 bad input (the run is still
    written and names it); 4 a model is missing or calls are not evaluated; 5 internal error or
    unwritable output; 130 interrupted (safe to run again).
    """


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line and exit with its code."""
    from inquesto_core.cli.exit_codes import INTERRUPTED, code_of, code_of_system, system_problem
    from inquesto_core.cli.output import drop_closed_pipes, say, show_error

    given = sys.argv[1:] if arguments is None else list(arguments)
    code: object = 0
    try:
        # Not `cli.main`, which ends with 1 where a reader has left.
        with cli.make_context("inquesto-core", given) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as exc:
        code = exc.exit_code
    except (click.exceptions.Abort, EOFError, KeyboardInterrupt):
        say("inquesto-core: interrupted; run it again: what was done is kept", err=True)
        code = INTERRUPTED
    except click.ClickException as exc:
        show_error(exc)
        code = exc.exit_code
    except InquestoError as exc:
        say(f"inquesto-core: {_plain(str(exc))}", err=True)
        code = code_of(exc)
    except BrokenPipeError:
        code = 0
    except OSError as exc:
        say(f"inquesto-core: {_plain(str(system_problem(exc)))}", err=True)
        code = code_of_system(exc)
    drop_closed_pipes()
    sys.exit(code if isinstance(code, int) else 0)


def _plain(text: str) -> str:
    from inquesto_core.report.escape import escape_terminal

    return escape_terminal(text)
