"""Where nothing may be written: inside a run or a bundle, and over a file that is not ours.

A run and a bundle hold exactly what was measured and recorded; a file that is put among theirs
would be sealed, counted or read with them.
"""

from __future__ import annotations

from pathlib import Path

from inquesto_core.errors import Problem, StoreError

__all__ = ["refuse_inside", "require_own", "write_text"]

#: What lies in a folder of each kind; all of these files.
_KINDS = {"a run": ("manifest.json", "calls.parquet"), "a call bundle": ("call.json",)}
#: So far into a file the mark stands by which we know it for ours.
_LOOKED_AT = 4096


def refuse_inside(out: str | Path) -> None:
    """Refuse an output that would lie inside a run or a bundle, at any depth.

    Raises
    ------
    StoreError
        ``out_inside``.
    """
    place = Path(out).resolve()
    for folder in place.parents:
        for kind, files in _KINDS.items():
            if all((folder / name).is_file() for name in files):
                raise StoreError(
                    Problem(
                        code="out_inside",
                        found=f"{Path(out)} lies inside {folder.name}, which is {kind}",
                        expected="a place outside of every run and bundle",
                        remedy="name another place",
                    )
                )


def require_own(path: str | Path, *, mark: str) -> None:
    """Refuse an output file that would lie inside a run or bundle, or over a file of another kind.

    Parameters
    ----------
    mark : str
        A text near the beginning of every file that is written there.

    Raises
    ------
    StoreError
        ``out_inside``, ``out_exists``, ``run_unwritable``.
    """
    file = Path(path)
    refuse_inside(file)
    try:
        if not file.is_file() or not file.stat().st_size:
            return
        with file.open("rb") as source:
            is_ours = mark.encode() in source.read(_LOOKED_AT)
    except OSError as exc:
        raise _unwritable(file, exc) from exc
    if not is_ours:
        raise StoreError(
            Problem(
                code="out_exists",
                found=f"{file.name} is there, and was not written by this command",
                expected="a new name, or an earlier output of this command",
                remedy="name another file",
            )
        )


def write_text(path: str | Path, text: str, *, mark: str) -> None:
    """Write a file for other programs, and the folders above it; see `require_own`.

    Raises
    ------
    StoreError
        ``out_inside``, ``out_exists``, ``run_unwritable``.
    """
    file = Path(path)
    require_own(file, mark=mark)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise _unwritable(file, exc) from exc


def _unwritable(path: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="run_unwritable",
            found=f"{path.name} cannot be written: {exc.strerror}",
            expected="a writable folder with room",
            remedy="free space or name another place",
        )
    )
