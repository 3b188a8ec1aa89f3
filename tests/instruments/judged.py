"""A judge without a model: characters are tokens, answers are told beforehand."""

from __future__ import annotations

from inquesto_core.instruments.judge import AskedCall
from inquesto_core.instruments.judge_llama import RawAnswer
from inquesto_core.instruments.judge_prompt import ChatFormat, SpokenTurn
from inquesto_core.instruments.judge_settings import judge_settings
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
SETTINGS = judge_settings(PROTOCOL.instruments.judge)

#: Control tokens by id; any other id is a Unicode code point + 100.
CONTROL = {1: "<eos>", 2: "<bos>", 106: "<start_of_turn>", 107: "<end_of_turn>"}
CHAT = ChatFormat(
    bos=(2,), turn_start=106, turn_end=107, user="user", model="model", control=CONTROL
)
_FIRST = 1000


def tokenise(text):
    return tuple(_FIRST + ord(character) for character in text)


def careless(text):
    """Tokenise as a vocabulary does whose control tokens can be spoken."""
    for token, spelling in CONTROL.items():
        before, found, after = text.partition(spelling)
        if found:
            return (*careless(before), token, *careless(after))
    return tokenise(text)


def spelled(tokens):
    return "".join(CONTROL.get(token) or chr(token - _FIRST) for token in tokens)


class Backend:
    """Answers every question by a function of its prompt, and remembers what was asked."""

    chat = CHAT
    context_tokens = 100_000
    build = "a build"

    def __init__(self, answer='true,"turn":null,"reason":"x"}', *, p=(0.9, 0.1)):
        self.answer, self.p, self.asked = answer, p, []

    def tokenise(self, text):
        return careless(text)

    def ask(self, segments, *, grammar, max_tokens):
        self.asked.append(segments)
        return RawAnswer(text=self.answer, p_true=self.p[0], p_false=self.p[1])


class Store:
    def __init__(self):
        self.kept = {}

    def find(self, key):
        return self.kept.get(key)

    def keep(self, key, answer):
        self.kept[key] = answer


def spoken(*texts):
    sides = ("agent", "caller")
    return tuple(SpokenTurn(speaker=sides[at % 2], text=text) for at, text in enumerate(texts))


def asked(call_id="0001", *texts, questions=("goal_achieved",), identity=None, form="solvable"):
    return AskedCall(
        call_id=call_id,
        goal="The caller wants the second charge refunded.",
        identity=identity,
        form=form,
        questions=questions,
        turns=spoken(*texts),
    )
