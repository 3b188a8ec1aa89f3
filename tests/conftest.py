"""What every test may lean on: the shared set where it is at hand, and a closed network."""

from __future__ import annotations

from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def project() -> Path:
    """Return the project's top folder."""
    return PROJECT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real inputs with known answers, or skip where it is not at hand."""
    folder = PROJECT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is absent: the real recordings and published records are not here")
    return folder
