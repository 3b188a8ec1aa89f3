"""A copy of the shipped protocol that a test may edit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inquesto_core.shipped import protocols_folder

Edit = Callable[[str, Callable[[dict[str, Any]], object]], Path]


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """Return a function that changes one JSON file of a copied folder and returns the folder."""
    folder = tmp_path / "inquesto-0.1"
    shutil.copytree(protocols_folder() / "inquesto-0.1", folder)

    def edit(file: str, change: Callable[[dict[str, Any]], object]) -> Path:
        value = json.loads((folder / file).read_text(encoding="utf-8"))
        change(value)
        (folder / file).write_text(json.dumps(value, indent=2), encoding="utf-8")
        return folder

    return edit
