"""The judge's answers about calls: each question asked alone, and once.

Which questions a call's scenario asks for is the caller's to say. An answer is stored under the
digest of everything that can move it (model, rubric, token ids and where their segments meet,
parameters, build) and looked up there before the model is asked. What cannot be asked or is not
exactly one legal answer is *undetermined*, with the reason and the raw text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from inquesto_core.canonical import digest_json
from inquesto_core.instruments.judge_answer import answer_grammar, read_answer
from inquesto_core.instruments.judge_prompt import (
    Prompt,
    call_segment,
    common_lead,
    question_segment,
    shared_segment,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from inquesto_core.instruments.judge_llama import RawAnswer
    from inquesto_core.instruments.judge_prompt import ChatFormat, Markers, SpokenTurn, Tokens
    from inquesto_core.instruments.judge_settings import JudgeSettings
    from inquesto_core.instruments.rubric import Form, Rubric

__all__ = [
    "AnswerStore",
    "AskedCall",
    "Judge",
    "JudgeBackend",
    "JudgeModel",
    "judge_calls",
]

Row = dict[str, Any]

NO_TRANSCRIPT = "no_transcript"
TOO_LONG = "too_long"
UNDECIDED = "undecided"
UNREADABLE = "judge_unparseable"


class JudgeBackend(Protocol):
    """A loaded model."""

    @property
    def chat(self) -> ChatFormat:
        """How the model marks turns."""

    @property
    def context_tokens(self) -> int:
        """The most tokens of a prompt with its answer."""

    @property
    def build(self) -> str:
        """The library and what it was built to use."""

    def tokenise(self, text: str) -> Tokens:
        """Return a text's ids, special tokens off."""

    def ask(self, segments: Sequence[Tokens], *, grammar: str, max_tokens: int) -> RawAnswer:
        """Return what follows the segments."""


class AnswerStore(Protocol):
    """Where answers are kept by their key."""

    def find(self, key: str) -> Row | None:
        """Return the answer kept under a key."""

    def keep(self, key: str, answer: Row) -> None:
        """Keep an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeModel:
    """What answers: a loaded model, its name and the digest of its file."""

    backend: JudgeBackend
    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """One call and what is asked about it.

    Parameters
    ----------
    goal : str
        What the caller wants, from the scenario.
    identity : str or None
        ``legit``, ``impostor`` or None.
    form : str
        Which form of a question is asked.
    questions : tuple of str
        Those whose text is the rubric's.
    claims : tuple of (question, text)
        Those whose text is the population's: claims among its predicates.
    turns : tuple of SpokenTurn or None
        None = there is no transcript. Without a word in it there is nothing to read.
    markers : Markers or None
        What happened beside the words; None where the rubric asks for none.
    """

    call_id: str
    goal: str
    identity: str | None
    form: Form
    questions: tuple[str, ...]
    turns: tuple[SpokenTurn, ...] | None
    claims: tuple[tuple[str, str], ...] = ()
    markers: Markers | None = None

    @property
    def every_question(self) -> tuple[str, ...]:
        """The names of all that is asked."""
        return (*self.questions, *(question for question, _ in self.claims))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What asks: a model, with everything that its answers depend on beside the call.

    Parameters
    ----------
    facts : mapping
        The population's account record.
    """

    model: JudgeModel
    rubric: Rubric
    facts: Mapping[str, object]
    settings: JudgeSettings
    store: AnswerStore

    def prompts(self, call: AskedCall) -> Iterator[tuple[str, Prompt]]:
        """Yield each question about a call with its prompt."""
        backend, rubric = self.model.backend, self.rubric
        tokenise, chat = backend.tokenise, backend.chat
        shared = shared_segment(rubric, self.facts, tokenise, chat)
        turns = call.turns or ()
        own = call_segment(rubric, call.goal, call.identity, turns, tokenise, chat, call.markers)
        lead = common_lead(
            [question_segment(rubric, text, tokenise, chat) for text in rubric.question_texts]
        )
        texts = [(name, rubric.question_text(name, call.form)) for name in call.questions]
        for question, text in (*texts, *call.claims):
            last = question_segment(rubric, text, tokenise, chat)
            begun = lead if last[: len(lead)] == lead else ()
            yield (
                question,
                Prompt(shared=shared, call=own, lead=begun, question=last[len(begun) :]),
            )

    def rows(self, call: AskedCall) -> list[Row]:
        """Return the rows of table ``verdicts`` about one call, a row a question."""
        if not any(turn.text.strip() for turn in call.turns or ()):
            answers = {question: _undetermined(NO_TRANSCRIPT) for question in call.every_question}
        else:
            n_turns = len(call.turns or ())
            answers = {
                question: self._answer(prompt, n_turns) for question, prompt in self.prompts(call)
            }
        return [
            {
                "call_id": call.call_id,
                "question": question,
                "model": self.model.name,
                "model_sha256": self.model.sha256,
                "rubric_sha256": self.rubric.sha256,
                "source": "judge",
                **answer,
            }
            for question, answer in answers.items()
        ]

    def _answer(self, prompt: Prompt, n_turns: int) -> Row:
        backend, settings = self.model.backend, self.settings
        if prompt.length + settings.max_answer_tokens > backend.context_tokens:
            return _undetermined(TOO_LONG)
        key = self._key(prompt)
        kept = self.store.find(key)
        if kept is None:
            limit = settings.max_reason_characters
            raw = backend.ask(
                prompt.segments,
                grammar=answer_grammar(n_turns, max_reason_characters=limit),
                max_tokens=settings.max_answer_tokens,
            )
            kept = _read(raw, self.rubric.opening, n_turns, limit)
            self.store.keep(key, kept)
        return {**kept, "answer_key": key}

    def _key(self, prompt: Prompt) -> str:
        backend = self.model.backend
        return digest_json(
            {
                "model": self.model.sha256,
                "rubric": self.rubric.sha256,
                "prompt": prompt.sha256,
                "parameters": self.settings.values(),
                "context_tokens": backend.context_tokens,
                "build": backend.build,
            }
        )


def judge_calls(
    calls: Sequence[AskedCall],
    judge: Judge,
    *,
    store_of: Callable[[str], AnswerStore] | None = None,
    progress: Callable[[int, int], None],
) -> list[Row]:
    """Return the rows of table ``verdicts``, in the order of `calls`.

    Parameters
    ----------
    store_of : callable, optional
        Gives the store of a call's answers, by its id; default: the judge's own.
    progress : callable
        Told how many of how many calls are done.
    """
    rows = []
    for done, call in enumerate(calls, start=1):
        asking = judge if store_of is None else replace(judge, store=store_of(call.call_id))
        rows += asking.rows(call)
        progress(done, len(calls))
    return rows


def _undetermined(why: str) -> Row:
    return {"verdict": None, "undetermined": why}


def _read(raw: RawAnswer, opening: str, n_turns: int, limit: int) -> Row:
    """Return what an answer says; what the model wrote and how sure it was are always kept."""
    text = opening + raw.text
    if not (math.isfinite(raw.p_true) and math.isfinite(raw.p_false)):
        return {**_undetermined(UNDECIDED), "raw": text}
    kept = {"p_true": raw.p_true, "p_false": raw.p_false, "raw": text}
    answer = read_answer(text, n_turns=n_turns, max_reason_characters=limit)
    if answer is None:
        return {**_undetermined(UNREADABLE), **kept}
    if raw.p_true == raw.p_false:
        return {**_undetermined(UNDECIDED), **kept}
    return {"verdict": answer.verdict, "turn": answer.turn, "reason": answer.reason, **kept}
