"""A stored run is read with the protocol that scored it, wherever that lies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from inquesto_core.engine import StoredRun, protocol_of_run
from inquesto_core.errors import ProtocolError
from inquesto_core.protocol import load_protocol
from inquesto_core.shipped import protocols_folder


def stored(protocol, *, prefix=""):
    manifest = {"protocol": {"name": protocol.name, "digest": prefix + protocol.digest}}
    return StoredRun(folder=Path("RUN"), records={}, manifest=manifest, parts=("",))


@pytest.fixture
def own(tmp_path):
    """Return a protocol of the user's own, with a stricter limit."""
    folder = tmp_path / "ours"
    shutil.copytree(protocols_folder() / "inquesto-0.1", folder)
    value = json.loads((folder / "protocol.json").read_bytes())
    value["protocol"] = "ours-1"
    value["events"]["slow_turn"]["latency_ms"] = 2000
    (folder / "protocol.json").write_text(json.dumps(value))
    return load_protocol(folder)


@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_a_shipped_protocol_is_found_by_its_name(prefix):
    shipped = load_protocol("inquesto-0.1")
    assert protocol_of_run(stored(shipped, prefix=prefix)) == shipped


def test_a_protocol_that_is_not_shipped_is_asked_for(own):
    with pytest.raises(ProtocolError, match=r"'ours-1'.*--protocol.*run_protocol_unknown") as error:
        protocol_of_run(stored(own))
    assert own.digest[:16] in error.value.problem.expected
    assert protocol_of_run(stored(own), own.folder) == own


def test_a_protocol_that_is_not_the_same_is_refused(own):
    shipped = load_protocol("inquesto-0.1")
    with pytest.raises(ProtocolError, match="run_protocol_differs"):
        protocol_of_run(stored(own), "inquesto-0.1")
    with pytest.raises(ProtocolError, match="run_protocol_differs"):
        protocol_of_run(stored(shipped), own.folder)


def test_a_shipped_protocol_that_has_changed_since_is_refused(own):
    """A draft under the same name may have been edited: its words would explain another run."""
    run = stored(own)
    run.manifest["protocol"]["name"] = "inquesto-0.1"
    with pytest.raises(ProtocolError, match=r"score the bundles again.*run_protocol_differs"):
        protocol_of_run(run)


def test_a_folder_that_is_no_protocol_is_refused(tmp_path):
    run = stored(load_protocol("inquesto-0.1"))
    with pytest.raises(ProtocolError, match="protocol_unknown"):
        protocol_of_run(run, tmp_path)
