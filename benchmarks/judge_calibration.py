"""How a judge agrees with people: its answer to one question beside the ratings of the EVA traces.

`python benchmarks/judge_calibration.py --traces FOLDER/faithfulness.jsonl --model FILE.gguf ...`

The traces are agent conversations of an airline desk that people rated for faithfulness from 1 (an
error that matters) to 3 (none). Our nearest question is `wrong_info`, and it is not the same one:
people also marked calls for broken policies and invented tool arguments, which the question does
not ask for. What the tools returned stands as the record. `--rubric` gives another text for it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from inquesto_core.canonical import canonical_bytes, digest_bytes, digest_json
from inquesto_core.compare import ANSWERS, HALVES, half_of, paired_answers, question_agreements
from inquesto_core.instruments.judge import AskedCall, Judge, JudgeModel
from inquesto_core.instruments.judge_llama import LlamaJudge
from inquesto_core.instruments.judge_prompt import SpokenTurn
from inquesto_core.instruments.judge_settings import judge_settings
from inquesto_core.instruments.rubric import Rubric, load_rubric
from inquesto_core.protocol import load_protocol

QUESTION = "wrong_info"
SPEAKERS = {"agent_utterance": "agent", "user_utterance": "caller"}
#: Ratings as answers to "is there an error": the middle one leaves it open, or counts as one.
READINGS = {
    "1 is an error, 2 is left out": {1: True, 2: None, 3: False},
    "1 and 2 are errors": {1: True, 2: True, 3: False},
}


@dataclass(frozen=True)
class KeptAnswers:
    """Answers as files of a folder, by key: what was asked before is not asked again."""

    folder: Path

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the answer kept under a key."""
        path = self.folder / f"{key}.json"
        return json.loads(path.read_bytes()) if path.is_file() else None

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{key}.json").write_bytes(canonical_bytes(answer))


def read_traces(path: Path) -> list[dict[str, Any]]:
    """Return the rated traces of a file, one JSON object a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def asked_call(trace: dict[str, Any]) -> AskedCall:
    """Return a trace as a call; what the caller wants is not told apart from the words."""
    turns = tuple(
        SpokenTurn(speaker=SPEAKERS[event["event_type"]], text=event["utterance"])
        for event in trace["trace"]
        if event["event_type"] in SPEAKERS
    )
    return AskedCall(
        call_id=f"eva-{trace['id']}",
        goal="not told; it shows from the call",
        identity=None,
        form="solvable",
        questions=(QUESTION,),
        turns=turns,
    )


def record_of(trace: dict[str, Any]) -> dict[str, object]:
    """Return what the tools returned, in order: the record that the agent could know."""
    results = [
        {"tool": event["tool_name"], "result": event.get("response")}
        for event in trace["trace"]
        if event["event_type"] == "tool_response"
    ]
    return {"tool_results": results}


def length_of(trace: dict[str, Any]) -> int:
    """Return how many characters of words and record the judge reads of a trace."""
    spoken = sum(len(turn.text) for turn in asked_call(trace).turns or ())
    return spoken + len(canonical_bytes(record_of(trace)))


def labels(traces: list[dict[str, Any]], reading: dict[int, bool | None]) -> pl.DataFrame:
    """Return the ratings as answers under one reading of them."""
    rows = [
        {
            "call_id": f"eva-{trace['id']}",
            "question": QUESTION,
            "verdict": reading[trace["expected_rating"]],
        }
        for trace in traces
    ]
    return pl.DataFrame(rows, schema=ANSWERS, orient="row")


def rubric_with(text_file: Path | None, rubric: Rubric) -> Rubric:
    """Return the rubric, the question's text replaced by a file's."""
    if text_file is None:
        return rubric
    texts = {**rubric.texts, QUESTION: text_file.read_text("utf-8")}
    return replace(rubric, texts=texts, sha256=digest_json(texts))


def judged(
    traces: list[dict[str, Any]],
    model: Path,
    *,
    rubric: Rubric,
    context_tokens: int,
    threads: int,
    kept_in: Path,
) -> pl.DataFrame:
    """Return the model's answers; a call that does not fit the context is left undetermined."""
    pin = load_protocol("inquesto-0.1").instruments.judge
    settings = replace(judge_settings(pin), context_tokens=context_tokens)
    backend = LlamaJudge(model, settings=settings, threads=threads)
    named = JudgeModel(backend=backend, name=model.name, sha256=digest_bytes(model.read_bytes()))
    rows: list[dict[str, Any]] = []
    try:
        for trace in traces:
            judge = Judge(
                model=named,
                rubric=rubric,
                facts=record_of(trace),
                settings=settings,
                store=KeptAnswers(folder=kept_in),
            )
            rows += judge.rows(asked_call(trace))
            print(f"  {len(rows)} of {len(traces)}", end="\r", file=sys.stderr, flush=True)
    finally:
        backend.close()
    columns = {**ANSWERS, "undetermined": pl.String, "p_true": pl.Float64, "p_false": pl.Float64}
    kept = [{name: row.get(name) for name in columns} for row in rows]
    return pl.DataFrame(kept, schema=columns, orient="row")


def report(answers: pl.DataFrame, traces: list[dict[str, Any]]) -> None:
    """Print the agreement under each reading, for both halves and each apart."""
    z = load_protocol("inquesto-0.1").z
    halves = pl.DataFrame(
        [(name, half_of(name)) for name in answers["call_id"]],
        schema={"call_id": pl.String, "half": pl.String},
        orient="row",
    )
    said = answers["verdict"].value_counts().sort("verdict").rows()
    print("  answers:", ", ".join(f"{verdict} {count}" for verdict, count in said))
    why = answers["undetermined"].drop_nulls().value_counts().rows()
    print("  undetermined:", ", ".join(f"{name} {count}" for name, count in why) or "none")
    for name, reading in READINGS.items():
        rated = labels(traces, reading)
        area = ordering(answers, rated)
        print(f"  {name}: p_true orders them with AUC {'–' if area is None else f'{area:.2f}'}")
        pairs = paired_answers(answers.select(ANSWERS.keys()), rated)
        pairs = pairs.join(halves, on="call_id")
        for half in ("both", *HALVES):
            within = pairs if half == "both" else pairs.filter(pl.col("half") == half)
            for each in question_agreements(within, z=z):
                print(f"  {name}; {half}: {line(each)}")


def ordering(answers: pl.DataFrame, rated: pl.DataFrame) -> float | None:
    """Return how often p_true is higher for a trace with an error than for one without: the AUC.

    0.5 is chance; equal probabilities count half; None where either kind is missing.
    """
    both = answers.join(rated.select("call_id", rated="verdict"), on="call_id")
    told = both.filter(pl.col("p_true").is_not_null() & pl.col("rated").is_not_null())
    ranks = told.with_columns(
        rank=(pl.col("p_true") / (pl.col("p_true") + pl.col("p_false"))).rank("average")
    )
    errors = ranks.filter("rated")
    pairs = errors.height * (ranks.height - errors.height)
    if not pairs:
        return None
    return float((errors["rank"].sum() - errors.height * (errors.height + 1) / 2) / pairs)


def line(each: Any) -> str:
    """Return one agreement in one line."""
    kappa = each.kappa
    value = (
        "–" if kappa.value is None else f"{kappa.value:.2f} ({kappa.low:.2f} to {kappa.high:.2f})"
    )
    rates = " ".join(
        f"{name} {rate.k}/{rate.n}"
        for name, rate in (
            ("agree", each.agreement),
            ("precision", each.precision),
            ("recall", each.recall),
        )
    )
    mark = f" [{kappa.inconclusive}]" if kappa.inconclusive else ""
    return f"{rates} kappa {value}{mark}"


def main() -> None:
    """Ask each model about each trace, and print how it agrees with the ratings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--model", type=Path, nargs="+", required=True)
    parser.add_argument("--rubric", type=Path, default=None, help="another text of the question")
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--half", choices=HALVES, default=None, help="only traces of this half")
    parser.add_argument("--shortest", type=int, default=None, help="only so many, by length")
    parser.add_argument("--threads", type=int, default=1, help="changes no answer")
    parser.add_argument("--answers", type=Path, required=True, help="folder to keep answers in")
    given = parser.parse_args()
    traces = [
        trace
        for trace in read_traces(given.traces)
        if given.half is None or half_of(f"eva-{trace['id']}") == given.half
    ]
    if given.shortest is not None:
        traces = sorted(traces, key=length_of)[: given.shortest]
    rubric = rubric_with(given.rubric, load_rubric(load_protocol("inquesto-0.1")))
    library = importlib.metadata.version("llama-cpp-python")
    print(f"{len(traces)} traces, {QUESTION}, rubric {rubric.sha256[:16]}, llama.cpp {library}")
    for model in given.model:
        began = time.perf_counter()
        answers = judged(
            traces,
            model,
            rubric=rubric,
            context_tokens=given.context_tokens,
            threads=given.threads,
            kept_in=given.answers,
        )
        print(f"{model.name} ({time.perf_counter() - began:.0f} s, {given.context_tokens} tokens)")
        report(answers, traces)


if __name__ == "__main__":
    main()
