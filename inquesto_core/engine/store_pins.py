"""Which entries of an evidence store the protocols at hand could still use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.engine.judging import answers_made_by
from inquesto_core.engine.transcribing import words_made_by
from inquesto_core.protocol import load_protocol, measurement_digest, protocol_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquesto_core.protocol import Protocol

__all__ = ["pins_of"]


def pins_of(protocols: Sequence[str] = ()) -> frozenset[str]:
    """Return what the pinned instruments of protocols put into ``made_by``.

    Parameters
    ----------
    protocols : sequence of str
        Names or folders; none = every protocol that is here.

    Raises
    ------
    ProtocolError
        One is not there.
    """
    laws = [load_protocol(name) for name in protocols or protocol_names("events")]
    return frozenset(pin for law in laws for pin in _pins(law))


def _pins(law: Protocol) -> Iterator[str]:
    yield measurement_digest(law)
    yield answers_made_by(law, law.instruments.judge.sha256)
    yield words_made_by(law, law.instruments.asr.sha256)
