"""``inquesto-core score``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE
from inquesto_core.cli.workers import executor_options, workers_of

if TYPE_CHECKING:
    from inquesto_core.protocol import OutcomeProtocol

__all__ = ["command"]


@click.command("score")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Run folder to write.")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
@click.option("--population", default=None, help="Population file; default: beside the calls.")
@click.option(
    "--judge",
    default="auto",
    show_default=True,
    help="auto, recorded (verdicts in the bundles), none (judge-free), pinned or gguf:PATH.",
)
@click.option(
    "--gpu-layers",
    type=click.IntRange(min=0),
    default=None,
    help="Layers of the judge's model on a GPU; default: as pinned (none).",
)
@click.option(
    "--transcriber",
    default="auto",
    show_default=True,
    help="auto or none (calls are not transcribed), pinned or folder:PATH.",
)
@click.option(
    "--store",
    default=None,
    type=click.Path(file_okay=False),
    help="Evidence store to read and fill; what it holds is not measured again.",
)
@ALLOW_REMOTE
@executor_options
@click.option(
    "--evaluated-at",
    type=click.DateTime(["%Y-%m-%d"]),
    default=None,
    help="Date of the record; default: the newest end of a call.",
)
@click.option(
    "--compat",
    type=click.Choice(["reference"]),
    default=None,
    help="SOURCE is a run folder of inquesto-score: scored exactly as it scores it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record alone on standard output.")
def command(
    sources: tuple[str, ...],
    out: str,
    protocol: str,
    population: str | None,
    judge: str,
    gpu_layers: int | None,
    transcriber: str,
    store: str | None,
    allow_remote: tuple[str, ...],
    workers: int | None,
    executor: str,
    address: str | None,
    evaluated_at: object,
    compat: str | None,
    as_json: bool,
) -> int:
    """Score call bundles and write a run folder.

    SOURCE is a bundle folder, a folder of bundles, a .zip or .tar of bundles, or a manifest
    (.jsonl, .parquet) of bundle locations.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import BAD_INPUT, NOT_EVALUATED
    from inquesto_core.cli.progress import Progress
    from inquesto_core.engine.judging import needs_model
    from inquesto_core.places import allowed_schemes
    from inquesto_core.protocol import OutcomeProtocol, load_any_protocol
    from inquesto_core.report.escape import escape_terminal
    from inquesto_core.report.terminal import score_lines

    on = None if evaluated_at is None else f"{evaluated_at:%Y-%m-%d}"
    if compat is not None:
        others = {"--judge": judge, "--transcriber": transcriber, "--protocol": protocol}
        if others != {"--judge": "auto", "--transcriber": "auto", "--protocol": "inquesto-0.1"}:
            raise click.UsageError("--compat reference has its own judge, timing and protocol")
        return _score_as_reference(
            sources,
            out,
            population=population,
            evaluated_at=on,
            allow_remote=allow_remote,
            as_json=as_json,
        )
    if gpu_layers is not None and not needs_model(judge):
        raise click.UsageError("--gpu-layers goes with --judge pinned or gguf:PATH")
    law = load_any_protocol(protocol)
    if isinstance(law, OutcomeProtocol):
        unused = {
            "--store": store,
            "--transcriber": None if transcriber in {"auto", "none"} else transcriber,
            "--executor": None if executor == "local" else executor,
        }
        for option in (name for name, value in unused.items() if value is not None):
            raise click.UsageError(
                f"{option}: under {law.name} nothing is listened to, and one process does all"
            )
        return _score_outcomes(
            sources,
            out,
            protocol=law,
            population=population,
            judge=judge,
            gpu_layers=gpu_layers,
            allow_remote=allow_remote,
            workers=workers_of(workers, executor, address),
            evaluated_at=on,
            as_json=as_json,
        )
    stages = {"measuring": "measured", "transcribing": "transcribed", "judging": "judged"}
    with (
        engine.run_to_write(out, allowed=allowed_schemes(allow_remote)) as folder,
        Progress(stages) as progress,
    ):
        result = engine.score(
            sources,
            out=folder,
            protocol=protocol,
            population=population,
            judge=judge,
            gpu_layers=gpu_layers,
            transcriber=transcriber,
            store=store,
            allow_remote=allow_remote,
            workers=workers_of(workers, executor, address),
            executor=executor,
            address=address,
            evaluated_at=on,
            progress=progress.of("measuring"),
            judge_progress=progress.of("judging"),
            transcriber_progress=progress.of("transcribing"),
        )
        # Read where it was written, which for a bucket is gone when this block ends.
        decisions = result.decisions
        messages = [
            *(f"{problem.level}: {problem}" for problem in result.problems),
            *(
                f"{level}: {text}"
                for level, text in result.table("problems").select("level", "message").rows()
            ),
        ]
    for message in messages:
        say(escape_terminal(message), err=True)
    if judge == "auto" and any("[judge-free]" in r["citation"] for r in result.records.values()):
        calls = result.table("calls")
        bare = calls.filter(~calls["has_verdicts"])["call_id"].sort()
        lacking = " and others do not" if len(bare) > 1 else " does not"
        first = f" ({escape_terminal(bare[0])}{lacking})" if len(bare) else ""
        say(
            f"not every bundle carries verdicts{first}: all are scored "
            "judge-free; --judge pinned asks the protocol's judge, --judge recorded reads a "
            "verdicts.json in each and leaves calls without one open",
            err=True,
        )
    untold = result.totals.without_transcript
    if transcriber == "auto" and untold:
        say(
            f"{untold} of {result.totals.calls} calls bring no transcript and were not "
            "transcribed; --transcriber pinned hears them",
            err=True,
        )
    records = list(result.records.values())
    if as_json:
        document = records[0] if len(records) == 1 else records
        say(pretty_bytes(document).decode(), newline=False)
    for at, record in enumerate(records):
        for line in ([""] if at else []) + score_lines(record, decisions):
            say(line, err=as_json)
    if result.has_bad_input:
        return BAD_INPUT
    return 0 if result.is_complete else NOT_EVALUATED


def _score_outcomes(
    sources: tuple[str, ...],
    out: str,
    *,
    protocol: OutcomeProtocol,
    population: str | None,
    judge: str,
    gpu_layers: int | None,
    allow_remote: tuple[str, ...],
    workers: int,
    evaluated_at: str | None,
    as_json: bool,
) -> int:
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.cli.exit_codes import BAD_INPUT, NOT_EVALUATED
    from inquesto_core.cli.progress import Progress
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.escape import escape_terminal
    from inquesto_core.report.outcome_text import outcome_lines

    def told(problem: object) -> None:
        say(escape_terminal(str(problem)), err=True)

    with (
        engine.run_to_write(out, allowed=allowed_schemes(allow_remote)) as folder,
        Progress({"reading": "read", "judging": "judged"}) as progress,
    ):
        result = engine.score_outcomes(
            sources,
            out=folder,
            protocol=protocol,
            population=population,
            judge=judge,
            gpu_layers=gpu_layers,
            allow_remote=allow_remote,
            workers=workers,
            evaluated_at=evaluated_at,
            progress=progress.of("reading"),
            judge_progress=progress.of("judging"),
            warn=lambda problem: told(f"{problem.level}: {problem}"),
        )
    for problem in result.problems:
        told(f"{problem.level}: {problem}")
    for level, text in result.call_problems.select("level", "message").rows():
        told(f"{level}: {text}")
    records = list(result.records.values())
    if as_json:
        document = records[0] if len(records) == 1 else records
        say(pretty_bytes(document).decode(), newline=False)
    for at, record in enumerate(records):
        for line in ([""] if at else []) + outcome_lines(record):
            say(line, err=as_json)
    if result.has_bad_input:
        return BAD_INPUT
    return 0 if result.is_complete else NOT_EVALUATED


def _score_as_reference(
    sources: tuple[str, ...],
    out: str,
    *,
    population: str | None,
    evaluated_at: str | None,
    allow_remote: tuple[str, ...],
    as_json: bool,
) -> int:
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.terminal import score_lines

    with engine.run_to_write(out, allowed=allowed_schemes(allow_remote)) as folder:
        records = engine.score_as_reference(
            sources, out=folder, population=population, evaluated_at=evaluated_at
        )
    if as_json:
        document = records[0] if len(records) == 1 else list(records)
        say(pretty_bytes(document).decode(), newline=False)
    for at, record in enumerate(records):
        for line in ([""] if at else []) + score_lines(record):
            say(line, err=as_json)
    return 0
