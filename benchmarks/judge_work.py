#!/usr/bin/env python3
"""How much work a judged call is, beside the usual ways to ask the same model the same questions.

Tokens evaluated (those of prompts apart: what a model writes is its own) and time a call,
everything in one process and in turning order, over the same transcripts and rubric: ours, one chat
completion a question with a reset before each, the same with the library's own reuse of what the
last prompt shares, and one completion that answers all questions in one object. All of them are
greedy and bound by a grammar to the same form of answer, so what differs is how prompts come to be
evaluated. Then the same calls in the opposite order: how far do the probabilities of the verdict
words move?

    INQUESTO_MODELS=FOLDER python benchmarks/judge_work.py [--model FILE.gguf] [--calls N]

Without a model the small stand-ins are looked for, and the benchmark says so where there are none.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

PROJECT = Path(__file__).resolve().parents[1]
SAMPLES = PROJECT / "sample_records"
# Run as a script, Python knows this folder and not the project's.
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402

from inquesto_core.canonical import canonical_bytes, strict_json  # noqa: E402
from inquesto_core.instruments.judge import AskedCall, Judge, JudgeModel  # noqa: E402
from inquesto_core.instruments.judge_answer import answer_grammar  # noqa: E402
from inquesto_core.instruments.judge_llama import LlamaJudge  # noqa: E402
from inquesto_core.instruments.judge_prompt import SpokenTurn, transcript_text  # noqa: E402
from inquesto_core.instruments.judge_settings import judge_settings  # noqa: E402
from inquesto_core.instruments.model_files import find_model_file  # noqa: E402
from inquesto_core.instruments.rubric import load_rubric  # noqa: E402
from inquesto_core.protocol import load_population, load_protocol  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


OURS, RESET, REUSE, ONE = (
    "ours",
    "(a) a completion a question, reset",
    "(b) the same, library's reuse",
    "(c) all questions in one answer",
)
#: Probabilities of true and false by call and question.
Verdicts = dict[tuple[str, str], tuple[float, float]]
#: Tokens that a completion may need beside the answer itself, for its opening.
ROOM = 12
QUESTIONS = ("goal_achieved", "wrong_info", "context_loss")


@dataclass(frozen=True)
class StandIn:
    """A small model by its digest."""

    name: str
    sha256: str
    size_bytes: int


STAND_INS = (
    StandIn(
        "Gemma-3-270M Q4_K_M",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        253_113_024,
    ),
    StandIn(
        "SmolLM2-135M-Instruct Q4_1",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
    ),
)


class NothingKept:
    """Keeps no answer: every question is asked."""

    def find(self, key: str) -> None:
        """Return nothing."""

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Forget it."""


@dataclass(slots=True)
class Work:
    """What one way of asking has cost."""

    wall_s: float = 0.0
    processor_s: float = 0.0
    evaluated: int = 0
    prompts: int = 0


def sample_calls(count: int) -> list[AskedCall]:
    """Return sample calls of both agents, evenly taken, each asked the same three questions."""
    found = sorted(SAMPLES.glob("*/*/transcript.json"))
    goals = {scenario.id: scenario.goal for scenario in people().scenarios}
    calls = []
    for path in found[:: max(1, len(found) // count)][:count]:
        about = strict_json(path.with_name("call.json").read_bytes(), file="call.json")
        turns = strict_json(path.read_bytes(), file=path.name)["turns"]
        calls.append(
            AskedCall(
                call_id=about["call_id"],
                goal=goals[about["scenario_id"]],
                identity=None,
                form="solvable",
                questions=QUESTIONS,
                turns=tuple(
                    SpokenTurn(speaker=turn["speaker"], text=turn.get("heard_text", turn["text"]))
                    for turn in turns
                ),
            )
        )
    return calls


@functools.cache
def law() -> Any:
    """Return the protocol."""
    return load_protocol("inquesto-0.1")


@functools.cache
def people() -> Any:
    """Return the population of the sample calls."""
    return load_population(SAMPLES / "population.json", law())


@dataclass(slots=True)
class VerdictWords:
    """Reads the probabilities of the verdict's words as a completion comes to them."""

    model: Any
    opening: bytes
    words: tuple[int, int]
    start: int | None = None
    found: tuple[float, float] | None = None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Look at the logits behind the opening; change none."""
        self.start = len(tokens) if self.start is None else self.start
        written = self.model.detokenize(list(map(int, tokens[self.start :])))
        if self.found is None and written == self.opening:
            weights = np.exp(logits.astype(np.float64) - float(logits.max()))
            yes, no = (float(weights[word] / weights.sum()) for word in self.words)
            self.found = (yes, no)
        return logits


@dataclass(slots=True)
class Count:
    """Counts what is evaluated; an answer comes a token at a time, a prompt in longer pieces."""

    evaluate: Callable[[Sequence[int]], None]
    evaluated: int = 0
    prompts: int = 0

    def __call__(self, tokens: Sequence[int]) -> None:
        """Evaluate tokens."""
        self.evaluated += len(tokens)
        self.prompts += len(tokens) if len(tokens) > 1 else 0
        self.evaluate(tokens)


class Usual:
    """The model behind the library's own chat completion, at no temperature, seed given."""

    def __init__(self, path: Path, threads: int) -> None:
        from llama_cpp import Llama

        self.settings = judge_settings(law().instruments.judge)
        self.rubric = load_rubric(law())
        self.model = Llama(
            str(path),
            n_ctx=self.settings.context_tokens,
            n_batch=self.settings.batch_tokens,
            n_threads=threads,
            n_threads_batch=threads,
            swa_full=True,  # as ours: without it nothing could be reused
            verbose=False,
        )
        self.words = [self.model.tokenize(word, add_bos=False)[0] for word in (b"true", b"false")]
        self.count = Count(self.model.eval)
        self.model.eval = self.count

    def prompt(self, call: AskedCall, questions: str) -> str:
        """Return the words that ours are given, as one message."""
        rubric = self.rubric
        shared = rubric.shared.replace("{instructions}", rubric.text("instructions")).replace(
            "{facts}", canonical_bytes(people().facts).decode()
        )
        own = rubric.call.replace("{goal}", call.goal).replace("{identity}", "")
        return shared + own.replace("{transcript}", transcript_text(call.turns or ())) + questions

    def grammar(self, call: AskedCall) -> str:
        """Return the grammar of a whole answer, its opening included."""
        text = answer_grammar(
            len(call.turns or ()), max_reason_characters=self.settings.max_reason_characters
        )
        return text.replace("root ::= ", f"root ::= {json.dumps(self.rubric.opening)} ", 1)

    def complete(
        self, text: str, grammar: str, max_tokens: int, watch: VerdictWords | None = None
    ) -> str:
        """Return what a completion writes."""
        from llama_cpp import LlamaGrammar, LogitsProcessorList

        reply = self.model.create_chat_completion(
            [{"role": "user", "content": text}],
            grammar=LlamaGrammar.from_string(grammar, verbose=False),
            max_tokens=max_tokens,
            temperature=0.0,
            seed=0,
            logits_processor=None if watch is None else LogitsProcessorList([watch]),
        )
        said = str(reply["choices"][0]["message"]["content"])
        if watch is None and not said.endswith("}"):
            raise SystemExit(f"no whole answer: {said[-60:]!r}")
        return said

    def ask_each(self, call: AskedCall, *, reset: bool) -> None:
        """Ask one question a completion."""
        for question in call.questions:
            if reset:
                self.model.reset()
            text = self.prompt(call, self.rubric.question_text(question, call.form))
            self.complete(text, self.grammar(call), self.settings.max_answer_tokens + ROOM)

    def verdicts(self, call: AskedCall) -> Verdicts:
        """Return the verdict words' probabilities: as `ask_each`, each answer broken off there."""
        found: Verdicts = {}
        yes, no = self.words
        for question in call.questions:
            watch = VerdictWords(self.model, self.rubric.opening.encode(), (yes, no))
            text = self.prompt(call, self.rubric.question_text(question, call.form))
            self.complete(text, self.grammar(call), ROOM, watch)
            if watch.found is not None:
                found[call.call_id, question] = watch.found
        return found

    def ask_all(self, call: AskedCall) -> None:
        """Ask all questions in one completion: an object of answers by their names."""
        self.model.reset()
        texts = "\n".join(
            f"{name}: {self.rubric.question_text(name, call.form)}" for name in call.questions
        )
        head, _, rest = self.grammar(call).partition("\n")
        parts = ' "," '.join(f"{json.dumps(json.dumps(name) + ':')} one" for name in call.questions)
        self.complete(
            self.prompt(call, f"Answer each question, by its name, in one object.\n{texts}"),
            f'root ::= "{{" {parts} "}}"\none ::= {head.removeprefix("root ::= ")}\n{rest}',
            len(call.questions) * (self.settings.max_answer_tokens + 2 * ROOM),
        )


class Ours:
    """Our judge, every answer asked for and none looked up."""

    def __init__(self, path: Path, threads: int) -> None:
        settings = judge_settings(law().instruments.judge)
        self.backend = LlamaJudge(path, settings=settings, threads=threads)
        self.judge = Judge(
            model=JudgeModel(backend=self.backend, name=path.name, sha256="0" * 64),
            rubric=load_rubric(law()),
            facts=people().facts,
            settings=settings,
            store=NothingKept(),
        )
        chat, tokenise = self.backend.chat, self.backend.tokenise
        head = chat.model + "\n"
        self.opening = len(tokenise(head + self.judge.rubric.opening)) - len(tokenise(head))
        self.count = Count(self.backend._decode)
        self.backend._decode = self.count  # type: ignore[method-assign]

    def ask(self, call: AskedCall) -> None:
        """Ask a call's questions; the answer's opening is in our prompts, and is no prompt."""
        self.judge.rows(call)
        self.count.prompts -= self.opening * len(call.questions)

    def verdicts(self, call: AskedCall) -> Verdicts:
        """Return the verdict words' probabilities, each answer broken off there."""
        grammar = answer_grammar(len(call.turns or ()), max_reason_characters=1)
        found: Verdicts = {}
        for question, prompt in self.judge.prompts(call):
            raw = self.backend.ask(prompt.segments, grammar=grammar, max_tokens=1)
            found[call.call_id, question] = (raw.p_true, raw.p_false)
        return found


def measured(path: Path, calls: Sequence[AskedCall], threads: int) -> dict[str, Work]:
    """Return what every way costs; call by call in turning order, each way's cache its own."""
    ours, anew, reusing = Ours(path, threads), Usual(path, threads), Usual(path, threads)
    ways: dict[str, tuple[Ours | Usual, Callable[[AskedCall], object]]] = {
        OURS: (ours, ours.ask),
        RESET: (anew, lambda call: anew.ask_each(call, reset=True)),
        REUSE: (reusing, lambda call: reusing.ask_each(call, reset=False)),
        ONE: (anew, anew.ask_all),
    }
    spent = {name: Work() for name in ways}
    names = list(ways)
    for turn, call in enumerate(calls):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            way, ask = ways[name]
            evaluated, prompts = way.count.evaluated, way.count.prompts
            wall, processor = time.perf_counter(), time.process_time()
            ask(call)
            spent[name].wall_s += time.perf_counter() - wall
            spent[name].processor_s += time.process_time() - processor
            spent[name].evaluated += way.count.evaluated - evaluated
            spent[name].prompts += way.count.prompts - prompts
    return spent


def moved(first: Verdicts, second: Verdicts) -> tuple[int, int, float]:
    """Return of how many pairs how many differ in a bit, and by how much at most."""
    both = [(first[key], second[key]) for key in first if key in second]
    most = max((abs(a - b) for one, two in both for a, b in zip(one, two, strict=True)), default=0)
    return len(both), sum(one != two for one, two in both), float(most)


def in_two_orders(path: Path, calls: Sequence[AskedCall], threads: int) -> dict[str, str]:
    """Return, a way, how the verdict words' probabilities move when calls come in another order."""
    told = {}
    for name, way in ((OURS, Ours), (REUSE, Usual)):
        runs: list[Verdicts] = []
        for order in (calls, calls[::-1]):
            ask = way(path, threads).verdicts
            runs.append({key: value for call in order for key, value in ask(call).items()})
        asked, differ, most = moved(*runs)
        told[name] = f"{differ} of {asked} differ, by at most {most:.2g}"
    return told


def report(path: Path, calls: Sequence[AskedCall], threads: int) -> None:
    """Print the tables of one model."""
    spent = measured(path, calls, threads)
    own = spent[OURS]
    print(
        f"\n{path.name}: {len(calls)} calls, {len(QUESTIONS)} questions each, {threads} thread(s)"
    )
    heads = ("tokens a call", "of prompts", "wall s a call", "processor s a call")
    print("| way | " + " | ".join(f"{head} | x ours" for head in heads) + " |")
    print("|---|" + "---|---|" * len(heads))
    for name, work in spent.items():
        cells = []
        for mine_n, theirs_n in (
            (own.evaluated, work.evaluated),
            (own.prompts, work.prompts),
        ):
            cells += [f"{theirs_n / len(calls):.0f}", f"{theirs_n / mine_n:.3f}"]
        for mine, theirs in (
            (own.wall_s, work.wall_s),
            (own.processor_s, work.processor_s),
        ):
            cells += [f"{theirs / len(calls):.2f}", f"{theirs / mine:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("Probabilities of true and false, calls in the opposite order:")
    for name, text in in_two_orders(path, calls, threads).items():
        print(f"  {name}: {text}", flush=True)


def main() -> None:
    """Print how much work each way is, for each model that is here."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--model", type=Path, action="append", default=[], help="A GGUF file.")
    options.add_argument("--calls", type=int, default=6, help="How many sample calls.")
    options.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    given = options.parse_args()
    if importlib.util.find_spec("llama_cpp") is None:
        print("not run: llama-cpp-python is not installed (bin/setup judge)")
        return
    found = {stand_in.name: find_model_file(stand_in) for stand_in in STAND_INS}
    for name, file in found.items():
        if not given.model and file.state != "ok":
            print(f"not run: {name} is not here; name its folder in INQUESTO_MODELS")
    paths = given.model or [file.path for file in found.values() if file.path is not None]
    for path in paths:
        report(path, sample_calls(given.calls), given.threads)


if __name__ == "__main__":
    main()
