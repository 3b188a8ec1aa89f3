"""Where the shipped data lies: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["protocols_folder", "schemas_folder"]

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str, inside: str) -> Path:
    shipped = _PACKAGE / inside
    return shipped if shipped.is_dir() else _PACKAGE.parent / name


def schemas_folder() -> Path:
    """Return the folder of ``<name>.schema.json`` files."""
    return _folder("schemas", "_schemas")


def protocols_folder() -> Path:
    """Return the folder that holds one folder a protocol version."""
    return _folder("protocols", "_protocols")
