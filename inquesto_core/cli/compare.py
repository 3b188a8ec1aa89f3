"""``inquesto-core compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from inquesto_core.cli.cost_options import BUNDLES, COSTS
from inquesto_core.cli.file_types import FileOr
from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

if TYPE_CHECKING:
    from inquesto_core.compare.outcome_pairs import OutcomeComparison
    from inquesto_core.engine.compare import Compared

__all__ = ["command"]

#: By these files are known that an earlier comparison wrote.
_JUNIT, _MARKDOWN = "inquesto-core compare: ", "| | A | B | B − A |"
#: A gate that does not hold.
NOT_PASSED = 1


@click.command("compare")
@click.argument("run_a", type=click.Path(file_okay=False))
@click.argument("run_b", required=False, type=click.Path(file_okay=False))
@click.option(
    "--agents",
    nargs=2,
    metavar="A B",
    help="Which agent is A and which B, by name or fingerprint, where a run holds several.",
)
@click.option(
    "--gates",
    default=None,
    type=FileOr("recommended"),
    help="A file of gates, or `recommended`: exit 1 where B may not replace A.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Compare within each value of a column; default: condition and group.",
)
@click.option(
    "--columns",
    default=None,
    type=click.Path(exists=True, dir_okay=False),
    help="CSV or Parquet with call_id or scenario_id and further columns for --by.",
)
@click.option(
    "--cluster",
    default="scenario_id",
    show_default=True,
    metavar="COLUMN",
    help="What is drawn again for intervals: scenarios, or speakers.",
)
@click.option(
    "--resamples", type=click.IntRange(1000, 1_000_000), default=10_000, show_default=True
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option(
    "--out",
    default=None,
    type=click.Path(file_okay=False),
    help="Folder for compare.json and pairs.parquet, every call that moved or fails.",
)
@click.option(
    "--junit", default=None, type=click.Path(dir_okay=False), help="Write the gates as JUnit XML."
)
@click.option(
    "--markdown",
    default=None,
    type=click.Path(dir_okay=False),
    help="Write the comparison and its gates as Markdown.",
)
@COSTS
@BUNDLES
@click.option(
    "--regression",
    default=None,
    type=click.Path(exists=True, file_okay=False),
    help="A set of `sample --failures`: what became of each failure, apart from the score.",
)
@click.option(
    "--labels",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="CSV of a labeller: both scores corrected for the judge's errors, as an estimate. One "
    "file for both sides, or A's and then B's.",
)
@click.option(
    "--key",
    default=None,
    type=click.Path(exists=True, dir_okay=False),
    help="key.json of the labelled sheet.",
)
@click.option("--protocol", default=None, help="Folder of the protocol, where it is not shipped.")
@click.option("--population", default=None, help="Population file, where the run holds none.")
@ALLOW_REMOTE
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(
    run_a: str,
    run_b: str | None,
    agents: tuple[str, str] | None,
    gates: str | None,
    by: tuple[str, ...],
    columns: str | None,
    cluster: str,
    resamples: int,
    seed: int,
    out: str | None,
    junit: str | None,
    markdown: str | None,
    costs: str | None,
    bundles: tuple[str, ...],
    regression: str | None,
    labels: tuple[str, ...],
    key: str | None,
    protocol: str | None,
    population: str | None,
    allow_remote: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compare agent B with agent A on the same calls, and let gates decide.

    RUN_A and RUN_B are run folders, each with one agent; two agents of one run are compared with
    RUN_A alone and --agents A B. Every difference is B minus A.
    """
    from inquesto_core import engine
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.places import allowed_schemes
    from inquesto_core.report.compare_text import comparison_lines, gate_lines

    if (junit is not None) and gates is None:
        raise click.UsageError("--junit writes the gates: name them with --gates FILE")
    if len(labels) > 2:
        raise click.UsageError("--labels takes one file for both sides, or A's and B's")
    if key is not None and not labels:
        raise click.UsageError("--key goes with --labels")
    for name in by:
        if by.count(name) > 1:
            raise click.UsageError(f"--by {name} is given {by.count(name)} times")
    allowed = allowed_schemes(allow_remote)
    with (
        engine.run_at_hand(run_a, allowed=allowed) as first,
        engine.run_at_hand(run_b or run_a, allowed=allowed) as second,
    ):
        if engine.is_outcome_run(first) or engine.is_outcome_run(second):
            _refuse_options(
                {
                    "--gates": gates,
                    "--columns": columns,
                    "--costs": costs,
                    "--bundles": bundles,
                    "--regression": regression,
                    "--labels": labels,
                    "--markdown": markdown,
                    "--cluster": None if cluster == "scenario_id" else cluster,
                }
            )
            found = engine.compare_outcomes(
                first,
                None if run_b is None else second,
                agents=agents or None,
                by=by,
                resamples=resamples,
                seed=seed,
                out=out,
            )
            _show_outcomes(found, as_json=as_json)
            return 0
        done = engine.compare(
            first,
            None if run_b is None else second,
            agents=agents or None,
            gates=gates,
            by=by,
            columns=columns,
            cluster=cluster,
            resamples=resamples,
            seed=seed,
            costs=costs,
            bundles=bundles,
            labels=labels,
            key=key,
            regression=regression,
            out=out,
            protocol=protocol,
            population=population,
        )
    lines = comparison_lines(
        done.comparison, moved=done.shown, details=done.details, severity=done.severity
    )
    if done.gates is not None:
        lines += ["", *gate_lines(done.gates)]
    for line in lines:
        say(line, err=as_json)
    if as_json:
        say(pretty_bytes(done.document()).decode(), newline=False)
    _write_files(done, junit=junit, markdown=markdown)
    passed = done.gates is None or done.gates.first_failed is None
    return 0 if passed else NOT_PASSED


def _refuse_options(given: dict[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise click.UsageError(f"{name} goes with runs of failure events only")


def _show_outcomes(found: OutcomeComparison, *, as_json: bool) -> None:
    from inquesto_core.canonical import pretty_bytes
    from inquesto_core.report.outcome_compare_text import outcome_comparison_lines

    for line in outcome_comparison_lines(found):
        say(line, err=as_json)
    if as_json:
        say(pretty_bytes(found.document()).decode(), newline=False)


def _write_files(done: Compared, *, junit: str | None, markdown: str | None) -> None:
    from inquesto_core.places import write_text
    from inquesto_core.report.gate_files import comparison_markdown, gates_junit

    if junit is not None and done.gates is not None:
        write_text(junit, gates_junit(done.gates, done.comparison), mark=_JUNIT)
    if markdown is not None:
        text = comparison_markdown(done.comparison, done.gates)
        write_text(markdown, text, mark=_MARKDOWN)
