"""What each side's channel holds and how it was heard, as lines of text."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.reasons import REJECTED
from inquesto_core.report.terminal import NOTHING, WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "channel_texts",
    "heard_lines",
    "problem_lines",
    "problem_texts",
    "sound_lines",
    "state_lines",
    "state_texts",
]

_ABSENT = object()

Facts = dict[str, Any]
Row = dict[str, Any]


def _wrap(text: str, *, first: str = "  ", rest: str = "    ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=escape_terminal(first), rest=rest)


def sound_lines(decision: Mapping[str, Any]) -> list[str]:
    """Return how long each side sounds; nothing where it was not measured."""
    if decision["overlap_ms"] is None:
        return []
    seconds = (
        f"{label} {decision[key] / 1000:.1f} s"
        for key, label in (
            ("caller_voiced_ms", "caller"),
            ("agent_voiced_ms", "agent"),
            ("overlap_ms", "both at once"),
        )
    )
    return _wrap("speech: " + " · ".join(seconds))


def channel_texts(facts: Facts, row: Row) -> list[str]:
    """Return a side's file first, then levels, what of its sound is not counted, and the rest."""
    file = [row["file"] or "no file", row["format"], row["codec"]]
    for key, words in (
        ("channel_index", "channel {}"),
        ("sample_rate_hz", "{} Hz"),
        ("duration_ms", "{} ms"),
    ):
        file.append(None if row[key] is None else words.format(row[key]))
    return [
        ", ".join(filter(None, file)),
        *_levels(row),
        *_not_counted(facts, row["channel"]),
        *_party(facts, row),
    ]


def heard_lines(facts: Facts) -> list[str]:
    """Return each side's file, levels, what of its sound is not counted, background and echo."""
    lines = []
    for row in facts["media"]:
        file, *texts = channel_texts(facts, row)
        lines += _wrap(file, first=f"  {row['channel']:<7}", rest=" " * 9)
        for text in texts:
            lines += _wrap(text, first=" " * 9, rest=" " * 11)
    return lines


def _levels(row: Row) -> Iterator[str]:
    named = (("speech", "active"), ("quiet", "floor"), ("peak", "peak"))
    levels = [(words, row[f"{key}_dbfs"]) for words, key in named]
    yield "level: " + ", ".join(
        f"{words} {NOTHING if level is None else f'{level:.1f} dBFS'}" for words, level in levels
    )
    if row["clipped_fraction"]:
        yield f"clipped: {100 * row['clipped_fraction']:.2f} % of the samples"
    if row["missing_ms"]:
        yield f"missing: {row['missing_ms']} ms that the header promises"


def _not_counted(facts: Facts, channel: str) -> Iterator[str]:
    lengths: dict[str, list[int]] = defaultdict(list)
    for row in facts["segments"]:
        if row["channel"] == channel and row["rejected"] is not None:
            lengths[row["rejected"]].append(row["end_ms"] - row["start_ms"])
    for reason, found in sorted(lengths.items()):
        words = REJECTED[reason][1] if reason in REJECTED else reason
        stretches = "stretch" if len(found) == 1 else "stretches"
        yield f"not counted: {sum(found) / 1000:.1f} s {words} ({reason}, {len(found)} {stretches})"


def _party(facts: Facts, row: Row) -> Iterator[str]:
    """Yield how the party was told from its background, and what leaks in from the other side."""
    if row["background_near"]:
        parts = [f"background: near, the {row['channel']} was told from it"]
        if row["snr_db"] is not None:
            parts.append(f"{row['snr_db']:.1f} dB louder")
        if row["separation"] is not None:
            parts.append(f"{row['separation']:.1f} standard deviations apart")
        if row["doubt"] is not None:
            limit = facts["limits"]["max_doubt"]
            parts.append(f"doubt {row['doubt']:.2f} (above {limit:g} timing is not evaluated)")
        yield ", ".join(parts)
    elif row["background_near"] is not None:
        yield "background: none that is near"
    if row["leak_delay_ms"] is not None:
        removed = row["leak_removed_db"]
        yield (
            f"echo: the other side comes in {row['leak_delay_ms']} ms late at "
            f"{_decibel(row['leak_db'])}, and was taken away"
            + ("" if removed is None else f" (level falls by {removed:.1f} dB while it sounds)")
        )
    elif row["background_near"] is not None:
        yield "echo: none found"


def _decibel(value: float | None) -> str:
    return "an unknown gain" if value is None else f"{value:+.1f} dB"


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{at}.{key}" if at else str(key))
    else:
        yield at, value


def _changes(one: str, other: str) -> list[str]:
    """Return what differs between two states, a text a field."""
    before, after = (dict(_leaves(json.loads(text))) for text in (one, other))
    texts = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if old != new:
            texts.append(f"{key}: {_shown(old)} -> {_shown(new)}")
    return texts


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def state_texts(facts: Facts) -> list[str]:
    """Return what the call changed in the account, and where that is not what was expected."""
    texts = []
    for row in facts["states"]:
        if row["before"] is not None and row["after"] is not None:
            texts += _changes(row["before"], row["after"]) or ["unchanged"]
        if row["expected"] is not None and row["after"] is not None:
            changes = _changes(row["expected"], row["after"])
            texts += [f"expected -> found, {text}" for text in changes]
    return texts


def state_lines(facts: Facts) -> list[str]:
    """Return what the call changed in the account, and where that is not what was expected."""
    return [line for text in state_texts(facts) for line in _wrap(text)]


def problem_texts(facts: Facts) -> list[str]:
    """Return what is wrong with the files and the recording: found, limit and remedy."""
    texts = []
    for row in facts["problems"]:
        place = " ".join(filter(None, (row["file"], row["pointer"])))
        text = f"{row['level']} {row['code']}" + (f": {row['message']}" if row["message"] else "")
        texts.append(text if not place or place in text else f"{text} ({place})")
    told = {row["code"] for row in facts["problems"]}
    untold = [code for code in facts["call"]["warnings"] or () if code not in told]
    return [*texts, *(["warnings: " + ", ".join(untold)] if untold else [])]


def problem_lines(facts: Facts) -> list[str]:
    """Return what is wrong with the files and the recording: found, limit and remedy."""
    return [line for text in problem_texts(facts) for line in _wrap(text)]
