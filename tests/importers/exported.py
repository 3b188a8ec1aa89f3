"""The eleven-second call of the field cases, exported the way each platform does it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from spoken import SIDES, latencies, listen, say, timeline
from synth import BASE, write_sound

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.importers import import_exports, import_options

#: 2026-03-01T22:22:07.000Z
STARTED_MS = 1_772_403_727_000
STARTED = "2026-03-01T22:22:07.000Z"
ENDED = "2026-03-01T22:22:18.000Z"

SAID = {
    "caller": ("I was charged twice.", "Yes, please."),
    "agent": ("Let me look.", "It is done."),
}

#: A refund, asked for at 6.4 s and done at 6.9 s.
TOOL = {"id": "t1", "name": "issue_refund", "arguments": {"amount": 50}, "result": {"ok": True}}
TOOL_AT_MS, TOOL_DONE_MS = 6400, 6900


def turns(script=BASE):
    """Return (side, text, start_ms, end_ms), in order."""
    rows = [
        (side, SAID[side][k], *span)
        for side in SAID
        for k, span in enumerate(getattr(script, side))
    ]
    return sorted(rows, key=lambda row: row[2])


def base_sound():
    """Return the call's sound, caller left, of words whose ends are measured within 10 ms."""
    words = {"caller": (0, 17), "agent": (0, 1)}
    sound = np.zeros((BASE.duration_ms * 16, 2), dtype=np.float32)
    for channel, side in enumerate(SIDES):
        for (start, end), seed in zip(getattr(BASE, side), words[side], strict=True):
            sound[start * 16 : end * 16, channel] = say(side, (end - start) * 16, seed)
    return sound


def base_audio(path, *, agent_left=False, mono=False, **how):
    """Write the call's recording: the caller left, unless said otherwise."""
    sound = base_sound()
    if agent_left:
        sound = sound[:, ::-1]
    if mono:
        sound = sound.mean(axis=1, keepdims=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_sound(path, sound, **({"codec": "PCM_16"} if path.suffix == ".wav" else {}), **how)


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run_import(platform, source, out, *, workers=0, **said):
    """Import one source or several and return what was done."""
    sources = source if isinstance(source, list) else [source]
    return import_exports(
        platform, sources, out=out, options=import_options(**said), workers=workers
    )


def imported(platform, source, out, **said):
    """Import one export without a refusal and return its bundle."""
    done = run_import(platform, source, out, **said)
    assert [str(p) for p in done.problems if p.level == "error"] == []
    (folder,) = done.folders
    return read_bundle(BundleRef(path=folder, label=folder.name))


def refusal(platform, source, out, **said):
    """Import one export that must be refused and return why."""
    done = run_import(platform, source, out, **said)
    (problem,) = [p for p in done.problems if p.level == "error"]
    assert done.n_refused == 1 and done.folders == ()
    assert not out.exists() or list(out.iterdir()) == []
    return problem


def assert_is_base(bundle, slack=10):
    """The bundle scores as the call does: 800 and 3200 ms, one slow turn, a slow median."""
    assert [str(p) for p in bundle.problems if p.level == "error"] == []
    rows = listen(bundle)
    assert rows["calls"][0]["timing_reasons"] == []
    assert rows["calls"][0]["exclusion_reason"] is None
    found = latencies(rows)
    assert found == [pytest.approx(800, abs=slack), pytest.approx(3200, abs=slack)]
    assert timeline(rows)["events"] == {"slow_turn", "slow_median"}


def assert_has_refund(bundle, status, *, times=(TOOL_AT_MS, TOOL_DONE_MS)):
    """The trace holds the one refund."""
    (call,) = bundle.trace.calls
    assert (call.id, call.name, dict(call.arguments)) == ("t1", "issue_refund", {"amount": 50})
    assert call.status == status
    assert (call.start_ms, call.end_ms) == times


def inferred(bundle):
    """Return what was inferred by field."""
    return {each.field: (each.value, each.how) for each in bundle.call.inferred}


def read(folder):
    """Return the bundle in a folder."""
    return read_bundle(BundleRef(path=folder, label=folder.name))


def only(tmp_path, platform, call, recording, **said):
    """Import one call and return its bundle."""
    source = write_json(tmp_path / "in" / "export.json", call)
    base_audio(tmp_path / "in" / recording)
    done = run_import(platform, source, tmp_path / "out", **said)
    return read(done.folders[0])
