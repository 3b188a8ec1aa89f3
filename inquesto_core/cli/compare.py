"""``inquesto-core compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from inquesto_core.cli.cost_options import BUNDLES, COSTS
from inquesto_core.cli.output import say
from inquesto_core.cli.remote_option import ALLOW_REMOTE

if TYPE_CHECKING:
    from inquesto_core.engine.compare import Compared
    from inquesto_core.engine.regression import CheckedSet

__all__ = ["command"]

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
    type=click.Path(dir_okay=False),
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
    from inquesto_core.report.regression_text import checked_lines

    if (junit is not None) and gates is None:
        raise click.UsageError("--junit writes the gates: name them with --gates FILE")
    allowed = allowed_schemes(allow_remote)
    with (
        engine.run_at_hand(run_a, allowed=allowed) as first,
        engine.run_at_hand(run_b or run_a, allowed=allowed) as second,
    ):
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
            out=out,
            protocol=protocol,
            population=population,
        )
        other = None if run_b is None else second
        checked = None if regression is None else _checked(regression, first, other, agents)
    lines = comparison_lines(
        done.comparison, moved=done.moved, details=done.details, severity=done.severity
    )
    document = done.document()
    if checked is not None:
        lines += ["", *checked_lines(checked.a, checked.b)]
        document["regression"] = checked.document()
    if done.gates is not None:
        lines += ["", *gate_lines(done.gates)]
    for line in lines:
        say(line, err=as_json)
    if as_json:
        say(pretty_bytes(document).decode(), newline=False)
    _write_files(done, junit=junit, markdown=markdown)
    passed = done.gates is None or done.gates.first_failed is None
    return 0 if passed else NOT_PASSED


def _checked(
    folder: str, first: Path, second: Path | None, agents: tuple[str, str] | None
) -> CheckedSet:
    from inquesto_core.engine.regression import check_regressions

    return check_regressions(folder, first, second, agents=agents or None)


def _write_files(done: Compared, *, junit: str | None, markdown: str | None) -> None:
    from inquesto_core.engine.compare_out import write_text
    from inquesto_core.report.gate_files import comparison_markdown, gates_junit

    if junit is not None and done.gates is not None:
        write_text(Path(junit), gates_junit(done.gates, done.comparison))
    if markdown is not None:
        write_text(Path(markdown), comparison_markdown(done.comparison, done.gates))
