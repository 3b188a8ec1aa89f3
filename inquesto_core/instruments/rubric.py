"""The judge's rubric: the texts of a protocol's rubric folder, and which of them a question takes.

Every word that the model reads beside the call itself stands in that folder, so that the protocol's
digest holds it. ``segments.json`` says how the texts are put together; ``goal_achieved`` and any
other question may have one form for each kind of scenario.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from inquesto_core.canonical import digest_json, strict_json
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol.layers import read_file
from inquesto_core.protocol.release import file_digests, protocol_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import Protocol

__all__ = ["FORMS", "Form", "Rubric", "load_rubric"]

#: What a scenario asks of the agent, where a question has a text of its own for it.
Form = Literal["solvable", "handoff", "impostor"]
FORMS: tuple[Form, ...] = ("solvable", "handoff", "impostor")

_SEGMENTS = "segments.json"
_PARTS = ("shared", "call", "question", "opening")
_MARKERS = "markers"
#: What a rubric may ask to be told beside the words.
_MARKER_KINDS = ("overlap", "silence", "tool")
_TEXT = ".txt"
#: What is no question among the texts.
_OTHER_TEXT = re.compile(r"instructions|identity\..+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """The texts that the judge is given.

    Parameters
    ----------
    texts : mapping of str to str
        File name without ``.txt`` to its text.
    shared, call, question, opening : str
        How a prompt's segments are made of them; ``{name}`` is replaced.
    markers : mapping of str to int
        What the transcript shows beside the words: ``overlap`` and ``silence`` from so many ms on,
        ``tool`` calls (the number says nothing). Empty: words alone.
    sha256 : str
        Digest of the whole folder.
    """

    texts: Mapping[str, str]
    shared: str
    call: str
    question: str
    opening: str
    sha256: str
    markers: Mapping[str, int] = field(default_factory=dict)

    def question_text(self, question: str, form: Form) -> str:
        """Return a question's text: the form's own where there is one.

        Raises
        ------
        ProtocolError
            Code ``rubric_incomplete``.
        """
        own = self.texts.get(f"{question}.{form}")
        return self.text(question) if own is None else own

    @property
    def question_texts(self) -> tuple[str, ...]:
        """Every form of every question, in the order of their files' names."""
        names = sorted(name for name in self.texts if not _OTHER_TEXT.fullmatch(name))
        return tuple(self.texts[name] for name in names)

    def identity_note(self, identity: str | None) -> str:
        """Return what the judge is told of who calls; empty outside the identity scenarios."""
        return "" if identity is None else self.text(f"identity.{identity}")

    def text(self, name: str) -> str:
        """Return the text of one file.

        Raises
        ------
        ProtocolError
            Code ``rubric_incomplete``.
        """
        if name not in self.texts:
            raise _incomplete(f"has no text {name}{_TEXT}", "a text for every question asked")
        return self.texts[name]


def load_rubric(protocol: Protocol) -> Rubric:
    """Return the protocol's rubric.

    Raises
    ------
    ProtocolError
        Codes ``rubric_incomplete``, ``protocol_unreadable``.
    """
    name = protocol.instruments.rubric
    if name is None:
        raise _incomplete("has no rubric", "instruments.judge.rubric in protocol.json")
    under = f"{name}/"
    files = {
        file.removeprefix(under): path
        for file, path in protocol_files(protocol.folder).items()
        if file.startswith(under)
    }
    if _SEGMENTS not in files:
        raise _incomplete(f"has no {_SEGMENTS}", "how the prompt is put together")
    parts = strict_json(read_file(files[_SEGMENTS]), file=_SEGMENTS)
    if not isinstance(parts, dict) or sorted({*parts, _MARKERS}) != sorted((*_PARTS, _MARKERS)):
        expected = f"the keys {', '.join(_PARTS)}, and {_MARKERS} where it asks for any"
        raise _incomplete(f"{_SEGMENTS} has other keys", expected)
    markers = parts.get(_MARKERS, {})
    if not isinstance(markers, dict) or not all(
        kind in _MARKER_KINDS and type(least) is int and least >= 0
        for kind, least in markers.items()
    ):
        expected = f"{', '.join(_MARKER_KINDS)}, each with a whole number of ms"
        raise _incomplete(f"{_SEGMENTS} has other {_MARKERS}", expected)
    texts = {
        file.removesuffix(_TEXT): read_file(path).decode("utf-8", errors="strict")
        for file, path in files.items()
        if file.endswith(_TEXT)
    }
    return Rubric(
        texts=texts, sha256=digest_json(file_digests(protocol.folder, under=under)), **parts
    )


def _incomplete(found: str, expected: str) -> ProtocolError:
    return ProtocolError(
        Problem(
            code="rubric_incomplete",
            found=f"the rubric {found}",
            expected=expected,
            remedy="use the protocol as it was shipped, or complete the rubric folder",
        )
    )
