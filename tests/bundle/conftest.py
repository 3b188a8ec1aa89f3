"""A bundle made of a few dictionaries."""

from __future__ import annotations

import json

import pytest

from inquesto_core.bundle import BundleRef

CALL = {
    "schema_version": "1",
    "call_id": "0412",
    "agent": {"name": "Billing agent"},
    "audio": [{"file": "audio.flac", "channels": {"caller": 0, "agent": 1}}],
}


@pytest.fixture
def write_bundle(tmp_path):
    """Write a bundle: its call.json with `change`, and parts as values or bytes."""

    def write(folder="0412", change=None, audio=b"not decoded here", **parts):
        root = tmp_path / folder
        root.mkdir(parents=True, exist_ok=True)
        call = {key: value for key, value in {**CALL, **(change or {})}.items() if value != "DROP"}
        if audio is not None:
            (root / "audio.flac").write_bytes(audio)
        for name, value in {"call": call, **parts}.items():
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            (root / f"{name}.json").write_bytes(data)
        return BundleRef(path=root, label=folder)

    return write
