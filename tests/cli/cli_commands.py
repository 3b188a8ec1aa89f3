"""A command as a user gives it."""

from __future__ import annotations

import pytest

from inquesto_core import cli


def run_command(capsys, *arguments):
    """Return a command's exit code, and what it prints on both streams."""
    with pytest.raises(SystemExit) as exit_:
        cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return exit_.value.code, printed.out, printed.err
