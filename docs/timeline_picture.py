"""The README's picture: one sample call's timeline, drawn from what `explain --json` says.

`python docs/timeline_picture.py` scores the call by itself and writes `docs/timeline.svg`;
`RUN` as an argument takes a run that has it already. A test draws it anew and compares.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["CALL", "draw", "explained"]

PROJECT = Path(__file__).resolve().parents[1]
PICTURE = PROJECT / "docs" / "timeline.svg"
CALL = "hasty-003-dup_charge-clean"

WIDTH, LEFT, RIGHT = 860, 66, 14
LANES = {"caller": 64, "agent": 122}
LANE_HEIGHT = 30
EVENTS_Y, TOOLS_Y, TICKS_Y, HEIGHT = 30, 190, 226, 250
MS_PER_TICK = 5000

#: Colours that hold on white and on black; a reader's dark setting changes text and lines.
STYLE = """
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#24292f}
.lane{fill:#8c959f;fill-opacity:.14}.tick{stroke:#8c959f;stroke-opacity:.5}.dim{fill:#57606a}
.caller{fill:#2f7fd1}.agent{fill:#2e9e5b}.other{fill:#8c959f;fill-opacity:.55}
.both{fill:#d9534f;fill-opacity:.28}.event{fill:#d9534f}.eventline{stroke:#d9534f;stroke-width:1.5}
.warn{fill:#c93c37;font-weight:600}.wait{stroke:#b07d10;stroke-width:1.6;fill:none}
.head{fill:#b07d10}.waited{fill:#8a5f00}.tool{fill:#8957e5}.toolname{fill:#7040c9}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9da7b1}.warn{fill:#ff8a80}
.waited{fill:#e3b341}.toolname{fill:#c4a5ff}}
"""

Facts = dict[str, Any]


def explained(run: Path) -> Facts:
    """Return the facts that `explain --json` prints of the call."""
    done = _command("explain", str(run), CALL, "--json")
    facts: Facts = json.loads(done)
    return facts


def _command(*arguments: str, may_end_with: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "inquesto_core", *arguments],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode not in may_end_with:
        raise SystemExit(done.returncode)
    return done.stdout


def draw(facts: Facts) -> str:
    """Return the call as SVG: two lanes, overlap, talk-overs, waits for a reply, tool calls."""
    end_ms = facts["call"]["duration_ms"]

    def at(ms: float) -> float:
        return round(LEFT + ms * (WIDTH - LEFT - RIGHT) / end_ms, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="t d"><title id="t">Timeline of {escape(facts["call"]["call_id"])}'
        f'</title><desc id="d">{escape(_description(facts))}</desc>',
        f"<style>{STYLE}</style>",
    ]
    for side, y in LANES.items():
        width = round(at(end_ms) - LEFT, 1)
        parts.append(_rectangle(LEFT, y, width, LANE_HEIGHT, "lane"))
        parts.append(_text(LEFT - 8, y + 19, side, anchor="end"))
    parts += [*_ticks(end_ms, at), *_sound(facts, at), *_overlaps(facts, at)]
    parts += [*_talk_overs(facts, at), *_waits(facts, at), *_tools(facts, at)]
    parts.append(_rectangle(WIDTH - RIGHT - 96, TOOLS_Y - 6, 12, 12, "both"))
    parts.append(_text(WIDTH - RIGHT, TOOLS_Y + 4, "both at once", anchor="end", name="dim"))
    return "\n".join([*parts, "</svg>", ""])


def _description(facts: Facts) -> str:
    waits = [f"{row['latency_ms']} ms" for row in facts["replies"] if row["latency_ms"]]
    over = [f"{row['value_ms']} ms" for row in facts["talk_overs"] if row["counted"]]
    return (
        f"Caller and agent as two lanes over {facts['call']['duration_ms'] / 1000:.0f} seconds. "
        f"The agent begins while the caller has the floor {len(over)} times ({', '.join(over)} "
        f"before the caller ends), replies after {', '.join(waits)}, and makes "
        f"{len(facts['tool_calls'])} tool calls."
    )


def _rectangle(x: float, y: float, width: float, height: float, name: str) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="2" class="{name}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", name: str = "") -> str:
    look = f' class="{name}"' if name else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{look}>{escape(text)}</text>'


def _ticks(end_ms: int, at: Any) -> list[str]:
    parts = []
    for ms in range(0, end_ms, MS_PER_TICK):
        x = at(ms)
        low, high = LANES["caller"], LANES["agent"] + LANE_HEIGHT
        parts.append(f'<line x1="{x}" y1="{low}" x2="{x}" y2="{high}" class="tick"/>')
        parts.append(_text(x, TICKS_Y + 14, f"{ms // 1000} s", anchor="middle", name="dim"))
    return parts


def _sound(facts: Facts, at: Any) -> list[str]:
    parts = []
    for row in facts["segments"]:
        x, width = at(row["start_ms"]), at(row["end_ms"]) - at(row["start_ms"])
        name = "other" if row["rejected"] else row["channel"]
        y = LANES[row["channel"]] + 4
        parts.append(_rectangle(x, y, round(width, 1), LANE_HEIGHT - 8, name))
    return parts


def _overlaps(facts: Facts, at: Any) -> list[str]:
    sides: dict[str, list[tuple[int, int]]] = {"caller": [], "agent": []}
    for row in facts["segments"]:
        if row["rejected"] is None:
            sides[row["channel"]].append((row["start_ms"], row["end_ms"]))
    top, height = LANES["caller"] - 4, LANES["agent"] - LANES["caller"] + LANE_HEIGHT + 8
    return [
        _rectangle(at(max(a, c)), top, round(at(min(b, d)) - at(max(a, c)), 1), height, "both")
        for a, b in sides["caller"]
        for c, d in sides["agent"]
        if max(a, c) < min(b, d)
    ]


def _talk_overs(facts: Facts, at: Any) -> list[str]:
    parts = []
    for row in facts["talk_overs"]:
        if not row["counted"]:
            continue
        x, stop = at(row["at_ms"]), at(row["caller_end_ms"])
        y = EVENTS_Y + 12
        low = LANES["agent"] + LANE_HEIGHT
        parts += [
            f'<line x1="{x}" y1="{y}" x2="{x}" y2="{low}" class="eventline"/>',
            f'<line x1="{x}" y1="{y}" x2="{stop}" y2="{y}" class="eventline"/>',
            f'<path d="M{x - 5} {y - 5}h10l-5 9z" class="event"/>',
            _text(x - 5, y - 12, f"talk-over, {row['value_ms']} ms early", name="warn"),
        ]
    return parts


def _waits(facts: Facts, at: Any) -> list[str]:
    parts = []
    y = (LANES["caller"] + LANE_HEIGHT + LANES["agent"]) / 2
    for row in facts["replies"]:
        if not row["latency_ms"]:
            continue
        x, stop = at(row["clock_ms"]), at(row["clock_ms"] + row["latency_ms"])
        parts += [
            f'<path d="M{x} {LANES["caller"] + LANE_HEIGHT - 4}V{y}H{stop - 5}" class="wait"/>',
            f'<path d="M{stop - 6} {y - 4}L{stop} {y}L{stop - 6} {y + 4}z" class="head"/>',
            _text(stop + 4, y + 4, f"reply after {row['latency_ms']} ms", name="waited"),
        ]
    return parts


def _tools(facts: Facts, at: Any) -> list[str]:
    """Return the tool calls as marks, those close together named in one line below."""
    parts = [_text(LEFT - 8, TOOLS_Y + 4, "tools", anchor="end")]
    groups: list[tuple[float, list[str]]] = []
    last = -1000.0
    for row in facts["tool_calls"]:
        if row["start_ms"] is None:
            continue
        x = at(row["start_ms"])
        parts.append(f'<path d="M{x} {TOOLS_Y - 6}l6 6l-6 6l-6 -6z" class="tool"/>')
        if x - last > 60:
            groups.append((x, []))
        groups[-1][1].append(row["name"])
        last = x
    parts += [_text(x - 6, TOOLS_Y + 22, ", ".join(names), name="toolname") for x, names in groups]
    return parts


def _scored(folder: Path) -> Path:
    """Score the call alone, with the population of the samples; return the run."""
    samples = PROJECT / "sample_records"
    call = next(path.parent for path in samples.rglob("call.json") if path.parent.name == CALL)
    calls = folder / "calls"
    calls.mkdir()
    (calls / "population.json").write_bytes((samples / "population.json").read_bytes())
    shutil.copytree(call, calls / CALL)
    run = folder / "RUN"
    # 4: the other calls of the population are not there.
    _command("score", str(calls), "--out", str(run), "--workers", "1", may_end_with=(0, 4))
    return run


def main(arguments: list[str]) -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(arguments[0]).resolve() if arguments else _scored(Path(folder))
        PICTURE.write_text(draw(explained(run)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
