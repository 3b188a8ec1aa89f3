"""Every kind of file that the engine reads: which files are changed, which commands read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzz_outcomes import OUTCOME_PROTOCOLS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["Kind", "kinds"]

Command = list[str]

_SCORE = ["score", "in/two", "--out", "out/run", "--workers", "1"]
_OUT = ["--out", "out/made"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file.

    Parameters
    ----------
    needs : tuple of str
        What of the base lies in ``in/`` of a case.
    files : tuple of (pattern, form)
        Which of these files are changed, and in what form (`fuzz_mutations.mutated`).
    commands : callable
        The command lines of which one reads them; paths from the case's folder.
    calls : str, optional
        Where the bundles lie that are scored: each must be told of.
    is_sealed : bool
        Whether `verify` must find that a file of the run was changed.
    weight : int
        How many cases it has beside the others.
    """

    needs: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    commands: Callable[[random.Random, str], list[Command]]
    calls: str | None = None
    is_sealed: bool = False
    weight: int = 1


def _bundle_commands(_: random.Random, __: str) -> list[Command]:
    return [
        _SCORE,
        [*_SCORE, "--judge", "recorded"],
        [*_SCORE, "--judge", "none", "--json"],
        ["validate", "in/two"],
        ["validate", "in/two", "--json"],
        ["redact", "in/two", *_OUT, "--workers", "1"],
        ["redact", "in/two", *_OUT, "--workers", "1", "--population", "in/two/population.json"],
    ]


def _population_commands(_: random.Random, __: str) -> list[Command]:
    return [*([_SCORE] * 4), ["validate", "in/two"]]


def _audio_commands(_: random.Random, file: str) -> list[Command]:
    return [["score", "/".join(file.split("/")[:2]), "--out", "out/run", "--workers", "1"]]


def _protocol_commands(rng: random.Random, file: str) -> list[Command]:
    name = "in/protocols/" + file.split("/")[2]
    return [
        ["protocol", "show", name],
        ["protocol", "diff", name, "inquesto-0.1"],
        ["rescore", "in/run", "--protocol", name, "--out", "out/run", "--workers", "1"],
        ["rescore", "in/run", "--protocol", name, "--out", "out/run", "--workers", "1"],
        ["models", "list", "--protocol", name],
        ["score", "in/two", "--protocol", name, "--out", "out/run", "--workers", "1"],
    ]


def _outcome_commands(rng: random.Random, _: str) -> list[Command]:
    law = ["--protocol", rng.choice(OUTCOME_PROTOCOLS)]
    return [
        ["score", "in/outcomes", "--out", "out/run", *law],
        ["score", "in/outcomes", "--out", "out/run", *law, "--json"],
        ["validate", "in/outcomes"],
    ]


def _outcome_run_commands(_: random.Random, file: str) -> list[Command]:
    run = "/".join(file.split("/")[:2])
    return [
        ["explain", run, "c1"],
        ["explain", run, "c2", "--json"],
        ["rescore", run, "--protocol", run.removeprefix("in/"), "--out", "out/run"],
        ["compare", run, f"{run}-again"],
    ]


def _archive_commands(_: random.Random, file: str) -> list[Command]:
    population = ["--population", "in/two/population.json"]
    return [
        ["score", file, "--out", "out/run", "--workers", "1", *population],
        ["validate", file],
    ]


def _gates_commands(_: random.Random, file: str) -> list[Command]:
    files = ["--junit", "out/junit.xml", "--markdown", "out/said.md"]
    base = ["compare", "in/run", "in/run_b", "--gates", file, "--resamples", "1000"]
    return [base, [*base, *files], [*base, "--json"]]


def _columns_commands(_: random.Random, file: str) -> list[Command]:
    base = ["compare", "in/run", "in/run_b", "--columns", file, "--resamples", "1000"]
    return [base, [*base, "--by", "region", *_OUT], [*base, "--by", "age"]]


def _cost_commands(_: random.Random, file: str) -> list[Command]:
    return [
        ["outcomes", "in/run", "--costs", file],
        ["leaderboard", "in/run", "in/run_b", "--costs", file, "--figure", "out/x.svg"],
        ["compare", "in/run", "in/run_b", "--costs", file, "--resamples", "1000"],
    ]


def _label_commands(_: random.Random, __: str) -> list[Command]:
    labels = "in/sheet/for_labellers/labels.csv"
    base = ["judge", "agreement", "in/run", "--labels", labels, "--key", "in/sheet/key.json"]
    return [base, [*base, "--json"]]


def _review_commands(_: random.Random, __: str) -> list[Command]:
    base = ["sample", "--estimate", "in/review/for_reviewers/review.csv"]
    return [base, [*base, "--key", "in/review/key.json", "--json"]]


def _extraction_commands(_: random.Random, file: str) -> list[Command]:
    ending = "csv" if file.endswith(".csv") else "jsonl"
    base = ["extraction", "in/inputs/contract.json", "--extracted", f"in/inputs/extracted.{ending}"]
    base += ["--reviewed", f"in/inputs/reviewed.{ending}"]
    return [base, [*base, "--run", "in/run"], [*base, "--json"]]


def _recognition_commands(_: random.Random, file: str) -> list[Command]:
    reference = file if "reference" in file else "in/inputs/reference.jsonl"
    base = ["recognition", "in/run", "--reference", reference]
    extra = ["--names", "in/inputs/names.txt", "--negations", "in/inputs/negations.json"]
    return [[*base, *extra], [*base, *extra, "--json"]]


#: Of a folder their importers take event logs of other endings.
_NAMED = frozenset({"deepgram-agent", "openai-realtime"})


def _export_command(file: str, options: dict[str, list[str]]) -> Command:
    platform = file.split("/")[2]
    if platform not in options:
        platform = "generic"
    home = f"in/exports/{platform}"
    sources = [f"{home}/a.json", f"{home}/b.json"] if platform in _NAMED else [home]
    return ["import", platform, *sources, *_OUT, *options[platform]]


def _rules_commands(_: random.Random, file: str) -> list[Command]:
    return [["import", "vapi", "in/exports/vapi", *_OUT, "--no-audio", "--rules", file]]


def _seal_commands(_: random.Random, __: str) -> list[Command]:
    verify = ["verify", "in/sealed", "--pub", "in/keys/a.key.pub", "--workers", "1"]
    return [verify, [*verify, "--json"], ["seal", "in/sealed", "--key", "in/keys/a.key"]]


def _sealed_run_commands(_: random.Random, __: str) -> list[Command]:
    return [["verify", "in/sealed", "--pub", "in/keys/a.key.pub", "--workers", "1"]]


def _run_commands(_: random.Random, __: str) -> list[Command]:
    return [
        ["explain", "in/run", "one-c1"],
        ["explain", "in/run", "one-c3", "--json"],
        ["report", "in/run", "--out", "out/page.html"],
        ["report", "in/run", "--out", "out/page.html", "--redact"],
        ["verify", "in/run", "--workers", "1"],
        ["compare", "in/run", "in/run_b", "--resamples", "1000", *_OUT],
        ["leaderboard", "in/run", "in/run_b", "--csv", "out/x.csv", "--markdown", "out/x.md"],
        ["outcomes", "in/run"],
        ["recognition", "in/run", "--reference", "in/inputs/reference.jsonl"],
        ["rescore", "in/run", "--protocol", "inquesto-0.2-draft", "--out", "out/run"],
        ["sample", "in/run", *_OUT],
        ["judge", "sheet", "in/run", *_OUT],
        ["judge", "agreement", "in/run", "--against", "in/run"],
        ["judge", "ranking", "in/run", "in/run_b"],
        ["seal", "in/run", "--key", "in/keys/a.key"],
    ]


def _regression_commands(_: random.Random, __: str) -> list[Command]:
    cut = ["sample", "in/run_b", "--failures", "two-c1", "--source", "in/calls_b"]
    return [
        ["compare", "in/run", "in/run_b", "--regression", "in/regression", "--resamples", "1000"],
        [*cut, "--out", "in/regression"],
    ]


def _model_commands(_: random.Random, file: str) -> list[Command]:
    if "whisper" in file:
        return [[*_SCORE, "--transcriber", "folder:in/models/whisper"]]
    return [
        [*_SCORE, "--judge", f"gguf:{file}"],
        ["verify", "in/run", "--model", file, "--workers", "1"],
    ]


def _store_commands(_: random.Random, __: str) -> list[Command]:
    return [
        [*_SCORE, "--store", "in/store"],
        ["store", "stats", "in/store"],
        ["store", "verify", "in/store"],
        ["store", "prune", "in/store"],
        ["store", "forget", "in/store", "one-c1"],
    ]


def _shared_commands(_: random.Random, __: str) -> list[Command]:
    population = ["--population", "in/two/population.json"]
    return [["score", "in/redacted", "--out", "out/run", "--workers", "1", *population]]


def _part(name: str, weight: int = 1) -> Kind:
    return Kind(
        needs=("two",),
        files=((f"two/c1/{name}.json", "json"),),
        commands=_bundle_commands,
        calls="two",
        weight=weight,
    )


def _sound(container: str, call: str) -> Kind:
    return Kind(
        needs=(container,),
        files=((f"{container}/{call}/audio.{container}", "bytes"),),
        commands=_audio_commands,
        calls=container,
    )


_RUN_FILES = (
    ("run/record.json", "json"),
    ("run/manifest.json", "json"),
    ("run/population.json", "json"),
    ("run/*.parquet", "bytes"),
    ("run/evidence/*.parquet", "bytes"),
)
_RUN_NEEDS = ("run", "run_b", "keys", "inputs")


def kinds(exports: dict[str, list[str]]) -> dict[str, Kind]:
    """Return every kind by name; `exports` are the options of each platform's import."""
    return {
        "call": _part("call", 2),
        "trace": _part("trace"),
        "transcript": _part("transcript"),
        "state": _part("state"),
        "verdicts": _part("verdicts"),
        "outcome": Kind(
            needs=("outcomes",),
            files=(("outcomes/c1/*.json", "json"), ("outcomes/population.json", "json")),
            commands=_outcome_commands,
            weight=3,
        ),
        "outcome-run": Kind(
            needs=(*OUTCOME_PROTOCOLS, *(f"{name}-again" for name in OUTCOME_PROTOCOLS)),
            files=tuple(
                (f"{name}/{pattern}", form)
                for name in OUTCOME_PROTOCOLS
                for pattern, form in (("*.json", "json"), ("*.parquet", "bytes"))
            ),
            commands=_outcome_run_commands,
            weight=2,
        ),
        "wav": _sound("wav", "c2"),
        "flac": _sound("flac", "c1"),
        "ogg": _sound("ogg", "c3"),
        "mp3": _sound("mp3", "c4"),
        "population": Kind(
            needs=("two",),
            files=(("two/population.json", "json"),),
            commands=_population_commands,
            weight=3,
        ),
        "protocol": Kind(
            needs=("protocols", "two", "run"),
            files=(("protocols/*/*.json", "json"), ("protocols/*/rubric/*", "text")),
            commands=_protocol_commands,
            weight=2,
        ),
        "archive": Kind(
            needs=("archives", "two"),
            files=(("archives/*.zip", "bytes"), ("archives/*.tar*", "bytes")),
            commands=_archive_commands,
        ),
        "manifest": Kind(
            needs=("archives", "two"),
            files=(("archives/*.jsonl", "jsonl"), ("archives/*.parquet", "bytes")),
            commands=_archive_commands,
        ),
        "gates": Kind(
            needs=("inputs", "run", "run_b"),
            files=(("inputs/gates.toml", "toml"),),
            commands=_gates_commands,
        ),
        "columns": Kind(
            needs=("inputs", "run", "run_b"),
            files=(("inputs/columns.csv", "csv"),),
            commands=_columns_commands,
        ),
        "costs": Kind(
            needs=("inputs", "run", "run_b"),
            files=(("inputs/costs.csv", "csv"), ("inputs/costs.jsonl", "jsonl")),
            commands=_cost_commands,
        ),
        "labels": Kind(
            needs=("sheet", "run"),
            files=(("sheet/for_labellers/labels.csv", "csv"), ("sheet/key.json", "json")),
            commands=_label_commands,
        ),
        "review": Kind(
            needs=("review",),
            files=(("review/for_reviewers/review.csv", "csv"), ("review/key.json", "json")),
            commands=_review_commands,
        ),
        "extraction": Kind(
            needs=("inputs", "run"),
            files=(
                ("inputs/contract.json", "json"),
                ("inputs/extracted.jsonl", "jsonl"),
                ("inputs/extracted.csv", "csv"),
                ("inputs/reviewed.*", "text"),
            ),
            commands=_extraction_commands,
            weight=2,
        ),
        "recognition": Kind(
            needs=("inputs", "run"),
            files=(
                ("inputs/reference.jsonl", "jsonl"),
                ("inputs/reference.csv", "csv"),
                ("inputs/names.txt", "text"),
                ("inputs/negations.json", "json"),
            ),
            commands=_recognition_commands,
        ),
        "mapping": Kind(
            needs=("exports",),
            files=(("exports/mapping.json", "json"),),
            commands=lambda _, file: [_export_command(file, exports)],
        ),
        "rules": Kind(
            needs=("exports", "inputs"),
            files=(("inputs/rules.json", "json"),),
            commands=_rules_commands,
        ),
        "export": Kind(
            needs=("exports",),
            files=(("exports/*/*.json", "json"),),
            commands=lambda _, file: [_export_command(file, exports)],
            weight=4,
        ),
        "seal": Kind(
            needs=("sealed", "keys"),
            files=(
                ("sealed/seal.dsse.json", "json"),
                ("keys/a.key", "text"),
                ("keys/a.key.pub", "text"),
            ),
            commands=_seal_commands,
            weight=2,
        ),
        "sealed-run": Kind(
            needs=("sealed", "keys"),
            files=tuple(
                (pattern.replace("run", "sealed", 1), form) for pattern, form in _RUN_FILES
            ),
            commands=_sealed_run_commands,
            is_sealed=True,
        ),
        "run-json": Kind(needs=_RUN_NEEDS, files=_RUN_FILES[:3], commands=_run_commands, weight=3),
        "run-table": Kind(needs=_RUN_NEEDS, files=_RUN_FILES[3:], commands=_run_commands, weight=3),
        "regression": Kind(
            needs=("regression", "run", "run_b", "calls_b"),
            files=(("regression/regression.json", "json"),),
            commands=_regression_commands,
        ),
        "model": Kind(
            needs=("models", "two", "run"),
            files=(("models/tiny.gguf", "bytes"), ("models/whisper/*", "bytes")),
            commands=_model_commands,
        ),
        "store": Kind(
            needs=("store", "two"),
            files=(("store/**/*", "bytes"), ("store/store.json", "json")),
            commands=_store_commands,
            calls="two",
        ),
        "shared-bundle": Kind(
            needs=("redacted", "two"),
            files=(("redacted/*/*.json", "json"),),
            commands=_shared_commands,
            calls="redacted",
        ),
    }
