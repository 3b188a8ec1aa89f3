"""The page `docs/timing-validity.md`, from the figures of one run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.timing_figures import ALL, percentile
from benchmarks.timing_metrics import CLASSES, class_of, margin_ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.timing_clips import ClipOnsets
    from benchmarks.timing_metrics import CallErrors, Counts
    from inquesto_core.protocol.definition import VadPin

    Parts = Mapping[str, Mapping[str, CallErrors]]

__all__ = ["validity_page"]

_INTRODUCTION = """\
# How well timing holds

The score says that timing is measured. This page says how well, on recordings whose timing is known
exactly: each was built by laying clips of speech at known places, then spoiled (telephone band,
echo, babble, television). `benchmarks/timing_validity.py` wrote the page and every figure in its
tables.

Three detectors heard the same calls in the same run, and what each heard went through the same
turn rules (`inquesto_core.timeline`):

- **engine**: the whole path of the engine, as `inquesto-core score` runs it. It is told which
  channel is whose, and neither the condition nor anything else.
- **silero**: plain {vad} as it comes, with the published default parameters (threshold
  0.5, shortest speech 250 ms, shortest silence 100 ms, padding 30 ms), on each channel by itself.
- **energy**: an energy VAD, on each channel by itself: RMS over 20 ms, speech from half way between
  the channel's 10th and 95th percentile (in dB) until it stays below 35 % of the way for 200 ms.
"""

_WORDS = """\
## What the words mean

- **run**: a caller's speech, joined over pauses of at most 300 ms. Onsets and offsets are those of
  runs.
- **found**: a true onset with a measured one at most 600 ms away, paired one to one; **missed**:
  the others; **spurious**: a measured one without a partner, a minute. Offsets likewise. Errors are
  measured minus true, over what was found: *bias* is the median with its sign, *p50* and *p95* are
  of absolute errors.
- **false**: measured caller runs a minute in which the caller truly says nothing.
- **offsets** are held to the outer edge of speech, 40 dB below its loudest 5 ms. Under babble,
  crowd and television they are held to the edge of the loud core, 25 dB below, where the truth
  states it: the soft tail below that (47 ms in the median of the shared set) lies under the
  background and cannot be heard.
- **latency**: the error of the reply latency where there truly is one and one was measured. The
  truth is that of the outer edge under every condition.
- **talk-over**: an agent turn that starts at least 500 ms before the caller's utterance ends. Every
  occurrence counts; a measured one is right if its agent onset lies within 300 ms of a true one.
- **slow or none**: a caller utterance whose reply comes more than 3000 ms after it, or never.
  Measured and true utterances are compared where they share time, by the nearest end.
- **margin-excluded**: events that are too near to a threshold to hold a detector to. True or
  measured, right or wrong, an event is left out of both precision and recall if its true value lies
  within the margin of the threshold, or if it comes or goes when a limit that the truth calls
  fragile is moved by 50 ms. The margins: {margins}. A hard background is television at 5 dB, and
  babble, a crowd or television in the telephone band.
- **left out**: calls that the engine declares unmeasurable. Its figures are of the others; those of
  the two baselines, which know no such thing, are of all calls.
"""

_OWN_ENDS = """\
The errors above leave out what has no partner within 600 ms. The stricter question, of every found
run: how far from its true end does the measured run end that it was found by? A run measured in two
pieces, or joined to the next one, is off by seconds here.
"""

_LIMITS = """\
## Limits

- The calls are built, not recorded: clean speech on a quiet line, backgrounds mixed in at a
  stated level, echo as one delayed copy. Real rooms are worse in ways that no such set covers.
- The parameters of the engine were set with the shared set at hand, so on that set these figures
  flatter it. Run it on your own recordings before you rely on it for them.
- The agent's channel holds digital silence between utterances. An agent with line noise or music of
  its own was not tried here.
- A pause inside an utterance has no core edge in the truth, so a run that ends there is held to the
  outer edge, also under a background.
- Counts are small. "2 of 2" is no proof of a rate.
"""

_OWN = """\
## On your own recordings

```sh
python benchmarks/timing_validity.py FOLDER --json figures.json
```

`FOLDER` holds one folder a call: `call.flac` or `call.wav` with one channel a side, and
`truth.json` with at least

```json
{
 "condition": {"name": "tel_babble10"},
 "channels": ["caller", "agent"],
 "utterances": [
  {"channel": "agent", "segments_s": [[0.717, 6.101]]},
  {"channel": "caller", "segments_s": [[6.773, 8.356], [8.573, 9.414]], "core_end_s": 9.352}
 ]
}
```

`segments_s` are the stretches of sound, in seconds, split at silences of 100 ms and more.
Optional are `core_end_s` (see *offsets*), `duration_s` (default: the recording's) and `expected`
(`utterances_ms`, `agent_turns_ms`, `talk_overs`, `replies`, `fragile_limits`, as in the shared
set); without it the turn rules are applied to the segments. The condition's name decides margin and
edge by the words in it: `babble`, `crowd`, `tv`, `echo`, `tel`; anything else is clean.

`--uncertainty` prints, by class of conditions, what 95 % of the boundary errors do not exceed.
`--clips DIR` times clips with one labelled caller onset (`DIR/labels.json`: `clip`, `kind`,
`caller_channel`, `agent_channel`, `caller_onset_ms`). This page, with its plots, is made by

```sh
python benchmarks/timing_validity.py ../shared/audio/dev --clips ../shared/audio/ami \\
  --markdown docs/timing-validity.md --plots docs/timing-validity
```
"""


def _number(value: float | None, form: str = ".0f") -> str:
    return "–" if value is None else format(value, form)


def _bias(errors: Sequence[int]) -> str:
    return f"{round(float(np.median(errors))):+d}" if errors else "–"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _each(parts: Parts, cell: str) -> list[str]:
    """Return detector names as column heads, one group a detector."""
    return [f"{detector}: {cell}" for detector in parts]


def _conditions(parts: Parts) -> list[str]:
    return list(next(iter(parts.values())))


def _shown(name: str) -> str:
    return f"**{name}**" if name == ALL else name


def _calls_table(parts: Parts) -> str:
    """Return the engine's calls and what each detector missed and invented."""
    rows = []
    for name in _conditions(parts):
        engine = next(iter(parts.values()))[name]
        rows.append(
            [
                _shown(name),
                str(engine.calls),
                str(engine.not_evaluated),
                *(_found(part[name]) for part in parts.values()),
                *(_per_minute(part[name], part[name].false_segments) for part in parts.values()),
            ]
        )
    head = ["condition", "calls", "left out", *_each(parts, "found"), *_each(parts, "false")]
    return _table(head, rows)


def _found(errors: CallErrors) -> str:
    return f"{len(errors.onset_ms)}/{errors.runs_true}"


def _per_minute(errors: CallErrors, count: int) -> str:
    return _number(count * 60_000 / errors.evaluated_ms if errors.evaluated_ms else None, ".1f")


def _boundary_table(parts: Parts, field: str) -> str:
    """Return found, missed, spurious and errors of onsets or offsets."""
    rows = []
    for name in _conditions(parts):
        cells = [_shown(name)]
        for part in parts.values():
            errors: tuple[int, ...] = getattr(part[name], field)
            missed = part[name].runs_true - len(errors)
            spurious = _per_minute(part[name], part[name].runs_measured - len(errors))
            cells += [
                f"{len(errors)} · {missed} · {spurious}",
                f"{_bias(errors)} · {_percentiles(errors)}",
            ]
        rows.append(cells)
    head = ["condition"]
    for detector in parts:
        head += [f"{detector}: found · missed · spurious", "bias · p50 · p95 ms"]
    return _table(head, rows)


def _percentiles(errors: Sequence[int]) -> str:
    return f"{_number(percentile(errors, 50))} · {_number(percentile(errors, 95))}"


def _own_end_table(parts: Parts) -> str:
    rows = [
        [_shown(name), *(_percentiles(part[name].own_end_ms) for part in parts.values())]
        for name in _conditions(parts)
    ]
    return _table(["condition", *_each(parts, "p50 · p95 ms")], rows)


def _latency_table(parts: Parts) -> str:
    rows = [
        [
            _shown(name),
            *(
                f"{len(part[name].latency_ms)} · {_bias(part[name].latency_ms)} · "
                f"{_percentiles(part[name].latency_ms)}"
                for part in parts.values()
            ),
        ]
        for name in _conditions(parts)
    ]
    return _table(["condition", *_each(parts, "n · bias · p50 · p95 ms")], rows)


def _rate(hit: int, of: int) -> str:
    return _number(hit / of if of else None, ".2f")


def _counted(counts: Counts) -> list[str]:
    rates = f"{_rate(counts.tp, counts.tp + counts.fp)} · {_rate(counts.tp, counts.tp + counts.fn)}"
    return [rates, f"{counts.tp}/{counts.fn}/{counts.fp} ({counts.margin_excluded})"]


def _event_table(parts: Parts, field: str) -> str:
    """Return precision and recall of one event, with counts."""
    rows = []
    for name in _conditions(parts):
        cells = [_shown(name)]
        for part in parts.values():
            cells += _counted(getattr(part[name], field))
        rows.append(cells)
    head = ["condition"]
    for detector in parts:
        head += [f"{detector}: precision · recall", "hit/missed/false (excluded)"]
    return _table(head, rows)


def _uncertainty_table(covered: Mapping[str, Mapping[str, int | None]]) -> str:
    columns = ("boundaries", "onset_ms", "offset_ms", "both_ms")
    rows = [
        [_class_word(name), *(_number(told[c]) for c in columns)] for name, told in covered.items()
    ]
    return _table(["class", "boundaries", "onsets ms", "offsets ms", "both ms"], rows)


def _clips(clips: Mapping[str, Sequence[ClipOnsets]]) -> str:
    """Return the table of real clips."""
    names = [onset.clip for onset in next(iter(clips.values()))]
    rows = [
        [
            f"{clip.name} ({clip.kind})",
            *(_signed(onsets[index].error_ms) for onsets in clips.values()),
        ]
        for index, clip in enumerate(names)
    ]
    for told, of in (("median, absolute", np.median), ("worst, absolute", np.max)):
        cells = []
        for onsets in clips.values():
            errors = [abs(onset.error_ms) for onset in onsets if onset.error_ms is not None]
            cells.append(_number(float(of(errors)) if errors else None))
        rows.append([f"**{told}**", *cells])
    return "\n".join(
        [
            "## Real speech: meeting clips with human word alignments\n",
            "People in a meeting, each with a headset, the other's voice audible in both (AMI",
            "corpus, CC BY 4.0). One labelled onset of the caller a clip; the error is that of the",
            "measured run that begins nearest to it, in ms. Word alignments are themselves good to",
            "some tens of ms.\n",
            _table(["clip", *clips], rows),
        ]
    )


def _signed(value: int | None) -> str:
    return "none" if value is None else f"{value:+d}"


def _class_word(name: str) -> str:
    return {"background_hard": "a hard background"}.get(name, name)


def _margins() -> str:
    return ", ".join(f"{_class_word(name)} {_margin_ms_of(name)}" for name in CLASSES) + " ms"


def _margin_ms_of(name: str) -> int:
    """Return the margin of a class, by a condition that belongs to it."""
    example = {"background_hard": "tv5"}.get(name, name)
    if class_of(example) != name:
        raise ValueError(f"{example} is no condition of class {name}")
    return margin_ms(example)


def _left_out(reasons: Mapping[str, Sequence[str]]) -> str:
    if not reasons:
        return "The engine evaluated every call.\n"
    told = "\n".join(f"- `{call_id}`: {', '.join(why)}" for call_id, why in sorted(reasons.items()))
    return f"Calls that the engine left out, and why:\n\n{told}\n"


def validity_page(
    parts: Parts,
    *,
    clips: Mapping[str, Sequence[ClipOnsets]],
    reasons: Mapping[str, Sequence[str]],
    plots: Sequence[Path],
    folder: Path,
    vad: VadPin,
    covered: Mapping[str, Mapping[str, int | None]],
) -> str:
    """Return the page.

    Parameters
    ----------
    parts : mapping of detector to condition to CallErrors
    plots : absolute paths of the drawings
    folder : the page's own, which links start from
    """
    total = next(iter(parts.values()))[ALL]
    pages = [
        _INTRODUCTION.format(vad=f"Silero VAD {vad.version}"),
        f"{total.calls} calls, {total.runs_true} caller runs in what the engine evaluated.\n",
        "## Is the caller found, and nothing else?\n",
        _calls_table(parts),
        _left_out(reasons),
        "## Where runs begin\n",
        _boundary_table(parts, "onset_ms"),
        "## Where runs end\n",
        _boundary_table(parts, "offset_ms"),
        _OWN_ENDS,
        _own_end_table(parts),
        "## Reply latency\n",
        _latency_table(parts),
        "## Talk-over\n",
        _event_table(parts, "talk_over"),
        "## Slow or no reply\n",
        _event_table(parts, "slow_or_none"),
    ]
    if plots:
        links = [f"![{p.stem}]({os.path.relpath(p, folder).replace(os.sep, '/')})" for p in plots]
        told = "A line that ends below the top leaves the rest missed."
        pages += ["## Distributions of the errors\n", f"{told}\n", "\n\n".join(links) + "\n"]
    if clips:
        pages.append(_clips(clips))
    pages += [
        "## What 95 % of the engine's boundary errors do not exceed\n",
        _uncertainty_table(covered),
        _WORDS.format(margins=_margins()),
        _LIMITS,
        _OWN,
    ]
    return "\n".join(pages)
