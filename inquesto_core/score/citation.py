"""The citation line: the score as it may be quoted, with everything that limits it in the line.

``Inquesto v0.1 = 44.8% (95% CI 39.3–50.4; n = 306); views B 42 · R 46 · I 39 · F 41`` is reserved
for the default population, complete, with the pinned judge, on measured timing, under a released
protocol. Whatever is not so is named, or stands in brackets before the ``=``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from inquesto_core.score.rate import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol

__all__ = [
    "JudgeUse",
    "Standing",
    "TranscriberUse",
    "citation_line",
    "is_pinned",
    "is_pinned_transcriber",
    "plain_label",
    "timing_only_line",
]

_STRUCTURE = str.maketrans("[]=;|", "()-,-")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUse:
    """Whose answers the judged quantities are.

    Parameters
    ----------
    kind : {"pinned", "recorded", "none", "gguf"}
        The protocol's judge; verdicts stored in the bundles; no judge; another model file.
    label : str or None
        What the line calls another model: its file name.
    model, sha256 : str or None
        The model's name and file digest, where known.
    """

    kind: Literal["pinned", "recorded", "none", "gguf"]
    label: str | None = None
    model: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriberUse:
    """Who heard the words of the calls that bring no transcript.

    Parameters
    ----------
    kind : {"none", "pinned", "folder"}
        Nobody, or there is no such call; the protocol's transcriber; another model.
    label : str or None
        What the line calls another model.
    model, sha256 : str or None
        The model's name and file digest, where known.
    """

    kind: Literal["none", "pinned", "folder"]
    label: str | None = None
    model: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What there is to know of a run beside its rate.

    Parameters
    ----------
    population : str or None
        Its name, unless it is the protocol's default population.
    total : int
        Calls that the population expects or the archive holds.
    in_n, excluded : int
        Of these, the complete and the excluded ones.
    bounds : tuple of float or None
        The score's bounds in percent if calls are open.
    timing_reported : bool
        Some call's timing was told by its runtime and not measured.
    is_partial : bool
        The archive lacks an expected call, or n holds a call twice or one not expected.
    timing_only, timed : int
        Calls without a scenario, which `total` does not count; those of them whose timing is
        evaluated.
    """

    population: str | None
    total: int
    in_n: int
    excluded: int
    bounds: tuple[float, float] | None
    timing_reported: bool
    is_partial: bool
    timing_only: int = 0
    timed: int = 0


def is_pinned(judge: JudgeUse, protocol: Protocol) -> bool:
    """Return whether the answers are the pinned judge's: the claim is checked by the digest."""
    return judge.kind == "pinned" and judge.sha256 == protocol.instruments.judge.sha256


def is_pinned_transcriber(transcriber: TranscriberUse, protocol: Protocol) -> bool:
    """Return whether the words are the pinned transcriber's: the claim is checked by the digest."""
    pinned = transcriber.sha256 == protocol.instruments.asr.sha256
    return transcriber.kind == "pinned" and pinned


def plain_label(text: str) -> str:
    r"""Return a name from outside as it may stand in the line, at most 80 characters long.

    What is not printable, and the marks that the line itself is made of, are replaced.

    >>> plain_label("model]\x1b[0m = 100%")
    'model)?(0m - 100%'
    """
    shown = "".join(mark if mark.isprintable() else "?" for mark in text[:80])
    return shown.translate(_STRUCTURE)


def citation_line(
    rate: Rate,
    views: Mapping[str, Any],
    *,
    protocol: Protocol,
    judge: JudgeUse,
    transcriber: TranscriberUse,
    standing: Standing,
) -> str:
    """Return the line that cites a score.

    Parameters
    ----------
    rate : Rate
        The score as counts.
    views : mapping
        The record's ``views``; their one-decimal scores are printed without decimals, an empty
        view as an en dash.
    """
    name = f"Inquesto {protocol.label}"
    if standing.population is not None:
        name += f"/{plain_label(standing.population)}"
    head = " ".join([name, *_qualifiers(protocol, judge, transcriber, standing)])
    interval = rate.published_interval(protocol.z)
    if interval is None:
        return f"{head} = no score (n = 0)"
    level = f"{100 * protocol.confidence_level:g}"
    bounds = f"{interval[0]}–{interval[1]}"
    shown = " · ".join(f"{view.letter} {_whole(views[view.name])}" for view in protocol.views)
    return f"{head} = {rate.published}% ({level}% CI {bounds}; n = {rate.n}); views {shown}"


def timing_only_line(
    latency_ms: Mapping[str, int | None], *, protocol: Protocol, standing: Standing
) -> str:
    """Return the line that cites the timing of calls none of which belongs to a scenario.

    It holds no rate: without a goal no call passes or fails, and nothing about a judge.

    Parameters
    ----------
    latency_ms : mapping
        ``n, p50, p95`` of the replies of the calls whose timing is evaluated.
    """
    name = f"Inquesto timing-only {protocol.label}"
    if standing.population is not None:
        name += f"/{plain_label(standing.population)}"
    marks = ["[draft]"] if protocol.status == "draft" else []
    if standing.timing_reported:
        marks.append("[timing reported]")
    untimed, held = standing.timing_only - standing.timed, standing.total + standing.timing_only
    if untimed:
        marks.append(f"[timing not evaluated {untimed}/{held}]")
    if standing.excluded:
        marks.append(f"[excluded {standing.excluded}/{held}]")
    head = " ".join([name, *marks])
    if not latency_ms["n"]:
        return f"{head}: no reply was timed ({_calls(standing.timed)})"
    waits = f"p50 {latency_ms['p50']} ms, p95 {latency_ms['p95']} ms"
    return f"{head}: reply latency {waits} (n = {latency_ms['n']} in {_calls(standing.timed)})"


def _calls(n: int) -> str:
    return f"{n} call" if n == 1 else f"{n} calls"


def _whole(view: Mapping[str, Any]) -> str:
    return "–" if view["score"] is None else f"{view['score']:.0f}"


def _qualifiers(
    protocol: Protocol, judge: JudgeUse, transcriber: TranscriberUse, standing: Standing
) -> list[str]:
    out = []
    if protocol.status == "draft":
        out.append("[draft]")
    if judge.kind == "none":
        out.append("[judge-free]")
    elif judge.kind == "recorded":
        out.append("[judge: recorded labels]")
    elif not is_pinned(judge, protocol):
        out.append(f"[judge: {plain_label(judge.label or judge.model or 'unknown')}]")
    if transcriber.kind != "none" and not is_pinned_transcriber(transcriber, protocol):
        out.append(f"[asr: {plain_label(transcriber.label or transcriber.model or 'unknown')}]")
    if standing.timing_reported:
        out.append("[timing reported]")
    if standing.bounds is not None:
        low, high = standing.bounds
        out.append(f"[incomplete {standing.in_n}/{standing.total}; {low}–{high} %]")
    if standing.excluded:
        out.append(f"[excluded {standing.excluded}/{standing.total}]")
    if standing.timing_only:
        out.append(f"[{standing.timing_only} more timing-only]")
    if standing.is_partial:
        out.append("[partial]")
    return out
