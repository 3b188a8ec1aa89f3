"""The signature: one line that says by what a score was made, to set beside it in a paper.

``inquesto:0.1|status:draft|pop:billing-0.1@9784b9d6adc5|fail_at:3|…``: keys in a fixed order,
values percent-encoded where they would break the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from inquesto_core.score.citation import is_pinned, is_pinned_transcriber

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population
    from inquesto_core.score.citation import JudgeUse, TranscriberUse

__all__ = ["format_signature", "parse_signature", "signature_parts"]

DIGEST_CHARACTERS = 12
_PLAIN = "@:+-._~/ ,()"


def signature_parts(
    *,
    protocol: Protocol,
    population: Population,
    judge: JudgeUse,
    transcriber: TranscriberUse,
    engine_version: str,
) -> dict[str, str]:
    """Return the signature's keys and values, in order."""
    vad = protocol.instruments.vad
    return {
        "inquesto": protocol.version,
        "status": protocol.status,
        "pop": _at(population.name, population.digest),
        "fail_at": str(protocol.fail_at),
        "rubric": protocol.instruments.rubric or "none",
        "vad": _at(f"{vad.name}-{vad.version}", vad.sha256),
        "asr": _transcriber(transcriber, protocol),
        "judge": _judge(judge, protocol),
        "protocol": protocol.digest[:DIGEST_CHARACTERS],
        "engine": engine_version,
    }


def _judge(judge: JudgeUse, protocol: Protocol) -> str:
    if is_pinned(judge, protocol):
        pin = protocol.instruments.judge
        return _at(f"{pin.name}-{pin.quantisation}", pin.sha256)
    if judge.kind == "none":
        return "none"
    name = judge.model or judge.label
    kind = judge.kind if name is None else f"{judge.kind}/{name}"
    return _at(kind, judge.sha256)


def _transcriber(transcriber: TranscriberUse, protocol: Protocol) -> str:
    if is_pinned_transcriber(transcriber, protocol):
        return _at(protocol.instruments.asr.name, transcriber.sha256)
    if transcriber.kind == "none":
        return "none"
    name = transcriber.model or transcriber.label
    return _at(
        transcriber.kind if name is None else f"{transcriber.kind}/{name}", transcriber.sha256
    )


def _at(name: str, digest: str | None) -> str:
    return name if digest is None else f"{name}@{digest[:DIGEST_CHARACTERS]}"


def format_signature(parts: Mapping[str, str]) -> str:
    """Return the signature as one line of printable ASCII.

    >>> format_signature({"inquesto": "0.1", "judge": "gguf/a|b"})
    'inquesto:0.1|judge:gguf/a%7Cb'
    """
    return "|".join(f"{key}:{quote(value, safe=_PLAIN)}" for key, value in parts.items())


def parse_signature(text: str) -> dict[str, str]:
    """Return the keys and values of a signature, in order.

    Raises
    ------
    ValueError
        A part has no colon, or a key stands twice.

    Examples
    --------
    >>> parse_signature("inquesto:0.1|judge:gguf/a%7Cb")
    {'inquesto': '0.1', 'judge': 'gguf/a|b'}
    """
    parts: dict[str, str] = {}
    for part in text.split("|"):
        key, colon, value = part.partition(":")
        if not colon or key in parts:
            raise ValueError(f"{part!r} is no part of a signature; expected key:value, once each")
        parts[key] = unquote(value, errors="strict")
    return parts
