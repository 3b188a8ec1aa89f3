"""What a command line names as a file: one that is there, a word in its place, or a location.

A file that an option names and that is not there is a usage error, whichever option it is.
"""

from __future__ import annotations

from typing import Any

import click

__all__ = ["FILE", "FileOr", "SourceLocation"]

#: A file that is there.
FILE = click.Path(exists=True, dir_okay=False)


class FileOr(click.Path):
    """A file that is there, or one of the words that may stand in its place."""

    def __init__(self, *words: str) -> None:
        super().__init__(exists=True, dir_okay=False)
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word or the path."""
        return value if value in self.words else super().convert(value, param, ctx)


class SourceLocation(click.Path):
    """A file or folder that is there, or a location of a scheme, which is looked at later."""

    def __init__(self) -> None:
        super().__init__(exists=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path or the location."""
        from inquesto_core.places import is_uri

        return value if is_uri(value) else super().convert(value, param, ctx)
