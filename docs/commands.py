"""Write docs/commands.md, every command with its options, from the commands themselves.

python docs/commands.py            write it
python docs/commands.py --check    fail where it is stale
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from inquesto_core.cli import cli  # noqa: E402 - the checkout's own, wherever this is started

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = PROJECT / "docs" / "commands.md"
NAME = "inquesto-core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command's help does not say: an example, its own exit codes, the page about it."""

    example: str
    page: str
    codes: str = ""


#: Every command; one that is missing here, or is none, stops the page from being written.
SAID = {
    "score": Said(
        example="score sample_records --out RUN",
        page="quickstart.md",
        codes="3: a source or bundle is unusable; the run is written and names it. 4: a model is "
        "missing, or calls are not evaluated.",
    ),
    "rescore": Said(
        example="rescore RUN --protocol inquesto-0.2-draft --out RUN2",
        page="rescoring.md",
        codes="4: calls are not evaluated.",
    ),
    "validate": Said(
        example="validate sample_records",
        page="problems.md",
        codes="3: a bundle has an error; warnings alone are 0.",
    ),
    "import": Said(
        example="import vapi exports/ --caller-channel 0 --out calls",
        page="importing.md",
        codes="3: a call could not be imported; all others were.",
    ),
    "explain": Said(
        example="explain RUN hasty-003-dup_charge-clean",
        page="diagnostics.md",
        codes="2: the run has no such call; the answer names those that hold the text.",
    ),
    "report": Said(
        example="report RUN --source sample_records --out report.html", page="reporting.md"
    ),
    "compare": Said(
        example="compare RUN --agents steady hasty --gates recommended",
        page="comparing.md",
        codes="1: a gate is not met. 2: the runs cannot be compared.",
    ),
    "leaderboard": Said(
        example="leaderboard RUN --markdown board.md",
        page="leaderboard.md",
        codes="2: the records cannot stand in one table.",
    ),
    "sample": Said(
        example="sample RUN --out REVIEW --n 60 --seed 1",
        page="sampling.md",
        codes="3: a filled sheet is not what was handed out.",
    ),
    "judge": Said(example="judge --help", page="agreement.md"),
    "judge agreement": Said(
        example="judge agreement RUN --labels labels.csv --key SHEET/key.json",
        page="agreement.md",
        codes="3: the labels cannot be read.",
    ),
    "judge ranking": Said(example="judge ranking RUN_A RUN_B", page="agreement.md"),
    "judge sheet": Said(example="judge sheet RUN --out SHEET --n 40", page="agreement.md"),
    "recognition": Said(
        example="recognition RUN --reference reference.csv",
        page="recognition.md",
        codes="3: a reference, or a list of words, cannot be read.",
    ),
    "extraction": Said(
        example="extraction contract.json --extracted extracted.jsonl --reviewed reviewed.csv",
        page="extraction.md",
        codes="3: a file cannot be read.",
    ),
    "outcomes": Said(example="outcomes RUN --bundles sample_records", page="outcomes.md"),
    "keygen": Said(
        example="keygen --out auditor.key",
        page="auditing.md",
        codes="2: a file of that name is there.",
    ),
    "seal": Said(
        example="seal RUN --key auditor.key",
        page="auditing.md",
        codes="1: the run does not hold and is not signed.",
    ),
    "verify": Said(
        example="verify RUN --pub auditor.key.pub --deep --source sample_records",
        page="auditing.md",
        codes="1: a check failed.",
    ),
    "redact": Said(
        example="redact sample_records --out SHARED",
        page="privacy.md",
        codes="3: a bundle was passed over.",
    ),
    "models": Said(example="models --help", page="models.md"),
    "models list": Said(example="models list", page="models.md"),
    "models pull": Said(
        example="models pull --role judge",
        page="models.md",
        codes="4: a model could not be had.",
    ),
    "models verify": Said(
        example="models verify",
        page="models.md",
        codes="4: a model is missing, or is another file.",
    ),
    "protocol": Said(example="protocol --help", page="protocol.md"),
    "protocol diff": Said(
        example="protocol diff inquesto-0.1 inquesto-0.2-draft", page="protocol.md"
    ),
    "protocol list": Said(example="protocol list", page="protocol.md"),
    "protocol show": Said(example="protocol show inquesto-0.1", page="protocol.md"),
    "store": Said(example="store --help", page="store.md"),
    "store forget": Said(example="store forget EVIDENCE 2026-10-07-0412", page="store.md"),
    "store prune": Said(example="store prune EVIDENCE --dry-run", page="store.md"),
    "store stats": Said(example="store stats EVIDENCE", page="store.md"),
    "store verify": Said(
        example="store verify EVIDENCE",
        page="store.md",
        codes="1: a file is damaged; it is moved aside.",
    ),
}

TOP = """# Commands

<!-- Written by docs/commands.py from the commands themselves; edit that. -->

`inquesto-core COMMAND --help` shows the same. In a checkout the program is `bin/inquesto-core`,
which makes its environment when it is first started.

| exit code | means |
|---|---|
| 0 | done |
| 1 | a gate or a verification failed |
| 2 | usage: an option, a name or a file given on the command line is not what it should be |
| 3 | bad input; what could be done was done, and what could not is named |
| 4 | a model is missing, or calls are not evaluated |
| 5 | internal error, or output that cannot be written |
| 130 | interrupted; start it again, what was done is kept |

Any command can end with 0, 2, 5 or 130; what else is its own stands with it.
Results go to standard output, progress and problems to standard error. A problem's line ends with
its code in brackets: [problems.md](problems.md).
"""


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below `group` with its name as typed."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise LookupError(name)
        typed = " ".join([*above, name])
        yield typed, command
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


def page() -> str:
    """Return the text of docs/commands.md."""
    found = dict(commands(cli))
    if missing := sorted(found.keys() ^ SAID.keys()):
        raise LookupError(f"docs/commands.py: SAID and the commands differ in {missing}")
    return TOP + "".join(_section(name, command, SAID[name]) for name, command in found.items())


def _section(name: str, command: click.Command, said: Said) -> str:
    context = click.Context(command, info_name=f"{NAME} {name}")
    usage = " ".join([NAME, name, *command.collect_usage_pieces(context)])
    text = "\n\n".join(
        re.sub(r"\s+", " ", part).strip() for part in (command.help or "").split("\n\n")
    )
    parts = [f"\n{'#' * (2 + name.count(' '))} {name}\n", f"    {usage}\n", _prose(text) + "\n"]
    rows = [row for parameter in command.get_params(context) if (row := _row(parameter, context))]
    if rows:
        parts.append("\n".join(["| option | |", "|---|---|", *rows]) + "\n")
    if not isinstance(command, click.Group):
        parts.append(f"```sh\n{NAME} {said.example}\n```\n")
    more = f"More: [{said.page}]({said.page})."
    parts.append(f"Exit code {said.codes} {more}\n" if said.codes else f"{more}\n")
    return "\n".join(parts)


def _row(parameter: click.Parameter, context: click.Context) -> str | None:
    """Return the row of an option; arguments stand in the usage, `--help` everywhere."""
    if not isinstance(parameter, click.Option) or "--help" in parameter.opts:
        return None
    record = parameter.get_help_record(context)
    if record is None:
        return None
    shown, text = record
    if parameter.multiple:
        text += " May be given several times."
    return "| `{}` | {} |".format(*(part.replace("|", r"\|") for part in (shown, _prose(text))))


def _prose(text: str) -> str:
    """Return help text as Markdown that shows it as it is."""
    return re.sub(r"(?<!`)(\*|<|\[)", r"\\\1", re.sub(r"\s+\[", " [", text)).strip()


def main() -> int:
    """Write the page, or with ``--check`` say whether it is what would be written."""
    text = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/commands.md is stale: python docs/commands.py writes it")
        return 1
    if sys.argv[1:]:
        print("docs/commands.py knows --check only")
        return 2
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
