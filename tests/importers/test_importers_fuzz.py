"""Whatever is done to an export: one typed line or a bundle that reads, and the others come in."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from exported import run_import, write_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from platform_exports import CASES
from spoken import say
from synth import write_sound

from inquesto_core.bundle import BundleRef, read_bundle

_KEYS = st.sampled_from(["id", "role", "name", "start", "x", ""])
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 0.5, 1e308, -1e9, 2**31, 10**40, 1e-9]),
    st.sampled_from(
        ["", "x", "1", "-1", "NaN", "null", "{", '"{\\"a\\": 1}"', "../../x", "a\x00b"]
    ),
    st.sampled_from(["2026-03-01T22:22:07", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"]),
    st.sampled_from(
        ["\u202e", "\ud7ff", "é" * 300, "w " * 3000, "1" * 5000, "RE1", "user", "tool"]
    ),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=5,
)
_DEEP = {"a": {"b": [[[[{"c": [1]}]]]]}}


def places(value, path=()):
    """Yield the path of every value inside another."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else ()
    members = enumerate(value) if isinstance(value, list) else members
    for key, inner in members:
        yield from places(inner, (*path, key))


@st.composite
def mutations(draw, export):
    """Return an export with one to four of its fields taken away, replaced, doubled or moved."""
    value = copy.deepcopy(export)
    for _ in range(draw(st.integers(1, 4))):
        found = sorted(places(value), key=repr)
        if not found:
            return value
        *above, last = draw(st.sampled_from(found))
        holder = value
        for key in above:
            holder = holder[key]
        deed = draw(st.sampled_from(["drop", "replace", "replace", "double", "swap", "deep"]))
        if deed == "drop":
            del holder[last]
        elif deed == "replace":
            holder[last] = draw(_VALUES)
        elif deed == "double" and isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]))
        elif deed == "swap":
            other = draw(st.sampled_from(found))
            holder[last] = copy.deepcopy(_at(value, other))
        else:
            holder[last] = [holder[last], copy.deepcopy(_DEEP)]
    return value


def _at(value, path):
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """Return a folder with a fifth of a second of stereo and of each side alone."""
    folder = tmp_path_factory.mktemp("sounds")
    sound = np.stack([say("caller", 3200, 0), say("agent", 3200, 1)], axis=1)
    write_sound(folder / "stereo.wav", sound, codec="PCM_16")
    return folder


def holds(platform, mutated, folder):
    """The mutated export is refused in whole lines or imported whole; the other one comes in."""
    case = CASES[platform]
    mutated_file = write_json(folder / "in" / case.names[0], mutated)
    intact_file = write_json(folder / "in" / case.names[1], case.export("intact"))
    for extra, value in case.beside.items():
        write_json(folder / "in" / extra, value)
    for name in case.names:
        shutil.copy(folder / "stereo.wav", folder / "in" / f"{name.partition('.')[0]}.wav")
    said = dict(case.said)
    if "mapping" in said:
        said["mapping"] = write_json(folder / "mapping.json", said["mapping"])
    done = run_import(platform, [mutated_file, intact_file], folder / "out", **said)
    assert any(intact_call(path, case) for path in done.folders)
    for problem in done.problems:
        assert problem.code and problem.found and problem.file, problem
        assert "\n" not in str(problem), problem
        if problem.level == "error":
            assert problem.expected and problem.remedy, problem
            assert (
                problem.pointer is not None
                or problem.call_id is not None
                or (
                    problem.code
                    in {"export_empty", "export_field", "json_invalid", "channels_unstated"}
                )
            ), problem
    laid = {path for path in (folder / "out").iterdir() if path.name != "population.json"}
    assert laid == set(done.folders)
    for path in laid:
        bundle = read_bundle(BundleRef(path=path, label=path.name))
        assert {p.code for p in bundle.problems if p.level == "error"} <= {"trace_unparseable"}


def intact_call(path, case):
    return path.name.endswith(case.intact)


def run_fuzz(platform, sounds, data):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        shutil.copy(sounds / "stereo.wav", folder)
        holds(platform, data.draw(mutations(CASES[platform].export("mutated"))), folder)


@pytest.mark.parametrize("platform", sorted(CASES))
def test_a_mutated_export_is_one_line_or_a_whole_bundle(platform, sounds):
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def fuzz(data):
        run_fuzz(platform, sounds, data)

    fuzz()


@pytest.mark.slow
@pytest.mark.parametrize("platform", sorted(CASES))
def test_a_thousand_mutated_exports_of_each_platform(platform, sounds):
    @settings(max_examples=1000, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def fuzz(data):
        run_fuzz(platform, sounds, data)

    fuzz()
