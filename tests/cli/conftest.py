from __future__ import annotations

import pytest

from inquesto_core.engine import score


@pytest.fixture(scope="session")
def scored_twelve(twelve_calls, tmp_path_factory):
    """Return a run of twelve calls that no test changes."""
    out = tmp_path_factory.mktemp("runs") / "RUN"
    score([twelve_calls], out=out, judge="recorded")
    return out
