"""An import that is killed leaves whole bundles only, and is simply started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from exported import base_audio, write_json
from platform_exports import vapi_call

from inquesto_core.bundle import find_bundles, read_bundle

N_CALLS = 80


@pytest.fixture
def exports(tmp_path):
    folder = tmp_path / "exports"
    recording = base_audio(tmp_path / "one.wav")
    for k in range(N_CALLS):
        write_json(folder / f"call-{k:03d}.json", vapi_call(f"v-{k:03d}"))
        os.link(recording, folder / f"v-{k:03d}-stereo.wav")
    return folder


def start(project, exports, out):
    return subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "inquesto_core", "import", "vapi", str(exports)),
            *("--out", str(out), "--workers", "2"),
        ],
        env={**os.environ, "PYTHONPATH": str(project)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_a_bundle(out, process):
    """Wait until the first bundle has its name."""
    for _ in range(3000):
        if any(out.glob("v-*")) or process.poll() is not None:
            return
        time.sleep(0.01)
    raise AssertionError("no bundle within 30 s")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_an_interrupted_import_leaves_whole_bundles_and_ends_when_started_again(
    project, exports, tmp_path, how
):
    out = tmp_path / "out"
    process = start(project, exports, out)
    wait_for_a_bundle(out, process)
    os.killpg(process.pid, how)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    if how == signal.SIGINT:
        assert process.returncode in {130, 0}
        assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []
    found = find_bundles([out], scratch=tmp_path)
    assert found.problems == ()
    assert {path.name for path in out.glob("v-*")} == {ref.path.name for ref in found.refs}
    for ref in found.refs:
        assert read_bundle(ref).problems == ()
    again = start(project, exports, out)
    printed, _ = again.communicate(timeout=120)
    assert again.returncode == 0, printed
    assert len(list(out.glob("v-*"))) == N_CALLS
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []
    shutil.rmtree(out)
