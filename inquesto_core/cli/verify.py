"""``inquesto-core verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from inquesto_core.cli.file_types import SourceLocation
from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE
from inquesto_core.cli.workers import workers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.attest import Check

__all__ = ["command"]

_SHOWN = 20
_WORDS = {"passed": "passed", "failed": "FAILED", "not_checked": "not checked"}


@click.command("verify")
@click.argument("run", type=click.Path(file_okay=False))
@click.option(
    "--pub",
    "keys",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="Public key of who must have signed; several: all of them, or --threshold.",
)
@click.option(
    "--threshold", type=int, default=None, help="How many of the --pub keys must have signed."
)
@click.option("--deep", is_flag=True, help="Measure the bundles again and compare the evidence.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=SourceLocation(),
    help="Where the run's bundles lie; goes with --deep.",
)
@click.option(
    "--protocol",
    default=None,
    help="Name or folder of the protocol that the run was scored with; default: by its name.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Path(dir_okay=False, exists=True),
    help="File of a model that no protocol pins (gguf:PATH).",
)
@ALLOW_REMOTE
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    help="Processes that measure with --deep; default: one for each processor.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def command(
    run: str,
    keys: tuple[str, ...],
    threshold: int | None,
    deep: bool,
    sources: tuple[str, ...],
    protocol: str | None,
    models: tuple[str, ...],
    allow_remote: tuple[str, ...],
    workers: int | None,
    as_json: bool,
) -> int:
    """Check a run by numbered checks; say which failed, and what was not checked.

    Exit code 1 when a check fails. RUN need not be sealed: then it is held to its own manifest.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.progress import Progress

    if deep and not sources:
        raise click.UsageError("--deep measures the bundles again: name them with --source")
    if sources and not deep:
        raise click.UsageError("--source goes with --deep")
    if threshold is not None and not 1 <= threshold <= len(keys):
        raise click.UsageError(f"--threshold {threshold} with {len(keys)} --pub keys")
    with Progress({"measuring": "measured"}) as progress:
        done = engine.verify(
            run,
            keys=keys,
            threshold=threshold,
            deep=deep,
            sources=sources,
            protocol=protocol,
            models=models,
            allow_remote=allow_remote,
            workers=workers_of(workers, "local", None),
            progress=progress.of("measuring"),
        )
    if as_json:
        document = {
            "holds": done.holds,
            "checks": [
                {
                    "number": number,
                    "name": check.name,
                    "outcome": check.outcome,
                    "says": check.says,
                    "faults": list(check.faults),
                    "not_checked": list(check.gaps),
                }
                for number, check in enumerate(done.checks, start=1)
            ],
        }
        say(pretty_bytes(document).decode(), newline=False)
    for line in _lines(done.checks):
        say(line, err=as_json)
    return 0 if done.holds else 1


def _lines(checks: tuple[Check, ...]) -> Iterator[str]:
    from inquesto_core.report.counted import counted
    from inquesto_core.report.escape import escape_terminal

    for number, check in enumerate(checks, start=1):
        says = escape_terminal(check.says)
        yield f"{number:>2}  {check.name:<13}  {_WORDS[check.outcome]:<11}  {says}"
        for what, told in (("failed", check.faults), ("not checked", check.gaps)):
            yield from (f"      {what}: {escape_terminal(line)}" for line in told[:_SHOWN])
            if len(told) > _SHOWN:
                yield f"      {what}: and {len(told) - _SHOWN} more"
    count = {name: sum(check.outcome == name for check in checks) for name in _WORDS}
    yield ""
    yield (
        f"{counted(count['passed'], 'check')} passed, {count['failed']} failed, "
        f"{count['not_checked']} not checked"
    )
