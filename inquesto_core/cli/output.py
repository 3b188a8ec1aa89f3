r"""What is printed, and that a reader who stops reading stops nothing else.

``score ... | head -1`` closes the pipe after a line. The run is written all the same, the exit code
is the run's, and the lines that nobody reads go nowhere. What steers a terminal or turns its text
round never reaches it, whoever built the line: such a character is written as ``\u009b``, which
JSON reads as the same character.
"""

from __future__ import annotations

import os
import re
import sys

import click

__all__ = ["drop_closed_pipes", "say", "show_error"]


#: Controls but the end of a line and the tabulator, bidirectional marks, and halves of characters.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def say(text: str, *, err: bool = False, newline: bool = True) -> None:
    """Print text on standard output or error; from where the reader has left, print nothing."""
    try:
        click.echo(_STEERING.sub(_escaped, text), err=err, nl=newline)
    except BrokenPipeError:
        _into_nothing(2 if err else 1)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def show_error(error: click.ClickException) -> None:
    """Print a usage error with its hint, as click words it."""
    try:
        error.show()
    except BrokenPipeError:
        _into_nothing(2)


def drop_closed_pipes() -> None:
    """Send what is still unwritten nowhere, so that the interpreter ends without complaint."""
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except BrokenPipeError:
            _into_nothing(descriptor)


def _into_nothing(descriptor: int) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
