"""Three sample calls of two agents, scored and sealed once."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

#: Short calls; the first was taken out of the score, the second has a tool trace and failed.
THREE = (
    "steady-003-dup_charge-telephone",
    "hasty-006-cancel_sub-telephone",
    "hasty-023-escalate_refund-clean",
)


@dataclass
class Sealed:
    """A sealed run, its bundles, and the keys that signed it."""

    run: Path
    calls: Path
    key: Path
    pub: Path

    def copy(self, into: Path) -> Sealed:
        """Return a copy that can be changed."""
        for name in ("run", "calls"):
            shutil.copytree(getattr(self, name), into / name)
        return Sealed(run=into / "run", calls=into / "calls", key=self.key, pub=self.pub)


@pytest.fixture(scope="session")
def three_calls(project, tmp_path_factory):
    """Return a folder of three bundles with their population."""
    folder = tmp_path_factory.mktemp("three") / "calls"
    for name in THREE:
        shutil.copytree(project / "sample_records" / name.partition("-")[0] / name, folder / name)
    shutil.copy(project / "sample_records" / "population.json", folder)
    return folder


@pytest.fixture(scope="session")
def scored(three_calls, tmp_path_factory):
    """Return a run of the three calls, not sealed."""
    from inquesto_core import engine

    folder = tmp_path_factory.mktemp("scored") / "run"
    engine.score([three_calls], out=folder)
    return folder


@pytest.fixture(scope="session")
def sealed_once(scored, three_calls, tmp_path_factory):
    """Return the sealed run; tests work on copies of it."""
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    from inquesto_core import engine
    from inquesto_core.attest import make_keys

    folder = tmp_path_factory.mktemp("sealed")
    shutil.copytree(scored, folder / "run")
    key, pub = make_keys(folder / "auditor.key")
    engine.seal(folder / "run", key=key)
    return Sealed(run=folder / "run", calls=three_calls, key=key, pub=pub)


@pytest.fixture
def sealed(sealed_once, tmp_path):
    """Return a sealed run that may be changed."""
    return sealed_once.copy(tmp_path)
