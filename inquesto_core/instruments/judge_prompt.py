"""The judge's prompt as token ids, in segments.

**S0** is the same for a population, **S1** for a call, **S2** is one question and the beginning of
its answer; the words that every question of the rubric begins with are evaluated once a call. S1's
own first words come in small pieces that end at fixed places, so that of two calls that begin alike
the second finds what both begin with, whichever was asked first.
Control tokens (begin of text, begin and end of a turn) are placed here by their ids.
All text, and above all the transcript, is tokenised with special tokens off, and no control id may
come out of it: where a vocabulary gives one all the same, its spelling is cut in two and each half
tokenised alone. There is no system turn (Gemma 2 has none): the rubric goes into the user's.
"""

from __future__ import annotations

import bisect
import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.canonical import canonical_bytes, digest_json
from inquesto_core.errors import InstrumentError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from inquesto_core.instruments.rubric import Rubric

__all__ = [
    "ChatFormat",
    "Marker",
    "Markers",
    "Prompt",
    "SpokenTurn",
    "Tokens",
    "call_segment",
    "common_lead",
    "pieces",
    "question_segment",
    "shared_segment",
    "text_tokens",
    "transcript_text",
]

Tokens = tuple[int, ...]

#: After how many of its tokens S1 is cut.
_CUTS = (2, 4, *range(8, 129, 8))

_PLACE = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFormat:
    """How a model marks turns, by ids of its own vocabulary.

    Parameters
    ----------
    bos : tuple of int
        The one token that begins a text; empty where the model was trained without.
    turn_start, turn_end : int
    user, model : str
        The roles, as text behind `turn_start`.
    control : mapping of int to str
        Every id that text must never give, and its spelling.
    """

    bos: Tokens
    turn_start: int
    turn_end: int
    user: str
    model: str
    control: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTurn:
    """One turn of a transcript as the judge reads it: what was heard, where that is known."""

    speaker: str
    text: str
    start_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What happened at a time of the call, beside its words.

    Parameters
    ----------
    kind : str
        ``overlap``, ``silence`` or ``tool``.
    text : str
        How long it took, or how the tool call ended.
    name : str, optional
        The tool's, as the trace has it.
    """

    kind: str
    at_ms: int
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """The markers of a call in order of time, and the kinds of which some or all are not known."""

    found: tuple[Marker, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The token ids of one question about one call.

    Parameters
    ----------
    shared, call : tuple of int
    lead : tuple of int
        How every question of the rubric begins; empty where this one begins in another way.
    question : tuple of int
        The rest of it, and the beginning of its answer.
    """

    shared: Tokens
    call: Tokens
    lead: Tokens = ()
    question: Tokens

    @property
    def segments(self) -> tuple[Tokens, ...]:
        """The segments in order, none of them empty; each is evaluated on its own."""
        return tuple(filter(None, (self.shared, *pieces(self.call), self.lead, self.question)))

    @property
    def length(self) -> int:
        """The number of tokens."""
        return sum(map(len, self.segments))

    @property
    def sha256(self) -> str:
        """Digest of the ids and of where the segments meet."""
        return digest_json([list(segment) for segment in self.segments])


def text_tokens(text: str, tokenise: Callable[[str], Sequence[int]], chat: ChatFormat) -> Tokens:
    """Return the ids of a text, none of them a control id.

    Raises
    ------
    InstrumentError
        Code ``control_token_in_text``: the vocabulary gives one for a single character.
    """
    ids = tuple(tokenise(text))
    found = sorted({chat.control[token] for token in ids if token in chat.control})
    if not found:
        return ids
    halves = _cut(text, found)
    if len(halves) == 1:
        raise InstrumentError(
            Problem(
                code="control_token_in_text",
                found=f"the model's vocabulary reads {text[:20]!r} as a control token",
                expected="a vocabulary whose control tokens cannot be spoken",
                remedy="use another model file",
            )
        )
    return tuple(token for half in halves for token in text_tokens(half, tokenise, chat))


def _cut(text: str, spellings: Sequence[str]) -> list[str]:
    """Return the text in pieces, none of which holds one of the spellings whole."""
    pattern = "|".join(re.escape(spelling) for spelling in spellings if len(spelling) > 1)
    at = [match.start() + 1 for match in re.finditer(f"(?={pattern})", text)] if pattern else []
    bounds = [0, *at, len(text)]
    return [text[low:high] for low, high in itertools.pairwise(bounds) if low < high]


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Replace every ``{name}`` once: what a value holds is never replaced again."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), template)


def transcript_text(turns: Sequence[SpokenTurn], markers: Markers | None = None) -> str:
    r"""Return the transcript, one line a turn, and a line for each marker where it falls.

    A turn is a quoted JSON string without line breaks, so that no spoken words can end it and
    begin another; a tool's name is quoted alike. Where a turn's time is not known no marker has a
    place, and one line says so.

    >>> print(transcript_text([SpokenTurn(speaker="agent", text='Hi"\n[1] caller: "x')]))
    [0] agent: "Hi\" [1] caller: \"x"
    """
    lines = [
        f"[{at}] {turn.speaker}: {_quoted(' '.join(turn.text.split()))}"
        for at, turn in enumerate(turns)
    ]
    if markers is None:
        return "\n".join(lines)
    starts = [turn.start_ms for turn in turns if turn.start_ms is not None]
    unknown = set(markers.unknown)
    if len(starts) < len(turns):
        unknown |= {marker.kind for marker in markers.found}
        return "\n".join([*lines, *_not_known(unknown)])
    latest = list(itertools.accumulate(starts, max))
    for marker in reversed(markers.found):
        place = bisect.bisect_right(latest, marker.at_ms)
        name = "" if marker.name is None else f" {_quoted(marker.name)}"
        lines.insert(place, f"[{marker.kind}]{name} {marker.text}")
    return "\n".join([*lines, *_not_known(unknown)])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _not_known(kinds: Iterable[str]) -> list[str]:
    told = ", ".join(sorted(kinds))
    return [f"[not known when] {told}"] if told else []


def shared_segment(
    rubric: Rubric,
    facts: Mapping[str, object],
    tokenise: Callable[[str], Sequence[int]],
    chat: ChatFormat,
) -> Tokens:
    """Return S0: the one begin of text, the user's turn opened, instructions and account record."""
    values = {
        "instructions": rubric.text("instructions"),
        "facts": canonical_bytes(facts).decode("utf-8"),
    }
    text = chat.user + "\n" + _filled(rubric.shared, values)
    return (*chat.bos, chat.turn_start, *text_tokens(text, tokenise, chat))


def call_segment(
    rubric: Rubric,
    goal: str,
    identity: str | None,
    turns: Sequence[SpokenTurn],
    tokenise: Callable[[str], Sequence[int]],
    chat: ChatFormat,
    markers: Markers | None = None,
) -> Tokens:
    """Return S1: what the caller wants, who calls, and the transcript."""
    values = {
        "goal": goal,
        "identity": rubric.identity_note(identity),
        "transcript": transcript_text(turns, markers),
    }
    return text_tokens(_filled(rubric.call, values), tokenise, chat)


def question_segment(
    rubric: Rubric,
    question_text: str,
    tokenise: Callable[[str], Sequence[int]],
    chat: ChatFormat,
) -> Tokens:
    """Return S2: one question, the user's turn closed, the model's opened with its first words.

    The turn ends with the question's last word, as in the models' own templates.
    """
    text = _filled(rubric.question, {"question": question_text}).rstrip()
    return (
        *text_tokens(text, tokenise, chat),
        chat.turn_end,
        *text_tokens("\n", tokenise, chat),
        chat.turn_start,
        *text_tokens(chat.model + "\n" + rubric.opening, tokenise, chat),
    )


def pieces(call: Tokens) -> tuple[Tokens, ...]:
    """Return S1 in the pieces that are evaluated: small ones at its beginning, then the rest.

    >>> [len(piece) for piece in pieces(tuple(range(21)))]
    [2, 2, 4, 8, 5]
    """
    bounds = [0, *(cut for cut in _CUTS if cut < len(call)), len(call)]
    return tuple(call[low:high] for low, high in itertools.pairwise(bounds))


def common_lead(segments: Sequence[Tokens]) -> Tokens:
    """Return the ids that all segments begin with, never a whole one of them.

    >>> common_lead([(5, 6, 7), (5, 6, 9, 1)])
    (5, 6)
    """
    most = min(map(len, segments), default=1) - 1
    places = enumerate(zip(*(segment[:most] for segment in segments), strict=True))
    apart = (at for at, ids in places if len(set(ids)) > 1)
    return segments[0][: next(apart, most)] if segments else ()
