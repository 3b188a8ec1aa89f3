"""How far a long command is: a bar on a terminal, plain lines elsewhere, both with rate and time.

The rate is that since the first call of this run was done, so that what an earlier run had done
already does not promise too much. A line comes at each tenth, but no two within five seconds; in a
silence every half minute; and when all is done.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from inquesto_core.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Progress", "pace", "time_left"]

_TENTHS = 10
_SHORTEST_GAP_S, _LONGEST_SILENCE_S = 5.0, 30.0
_MINUTE_S, _HOUR_S = 60, 3600


class Progress:
    """The stages of a command, each shown from its first call on.

    Parameters
    ----------
    stages : mapping of str to str
        What is being done (``measuring``) to what has been done (``measured``).
    """

    def __init__(self, stages: Mapping[str, str]) -> None:
        self._bar: Any = _bar() if sys.stderr.isatty() else None
        self._stages = {
            doing: _BarStage(self._bar, doing) if self._bar else _PlainStage(done)
            for doing, done in stages.items()
        }

    def __enter__(self) -> Progress:
        """Begin to show."""
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal in order, whatever happened."""
        if self._bar:
            self._bar.stop()

    def of(self, doing: str) -> Callable[[int, int], None]:
        """Return what is told how many of how many calls a stage has done."""
        return self._stages[doing].show


class _Clock:
    """The rate of a stage."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.already: int | None = None

    def rate(self, done: int) -> float | None:
        """Return calls per second since the first was done; None = not known yet."""
        now = time.monotonic()
        if self.already is None:
            self.began, self.already = now, done
        elapsed = now - self.began
        fresh = done - self.already
        return fresh / elapsed if fresh > 0 and elapsed > 0 else None


class _PlainStage:
    def __init__(self, done_to: str) -> None:
        self.done_to = done_to
        self.clock = _Clock()
        self.said, self.tenths = time.monotonic(), 0

    def show(self, done: int, total: int) -> None:
        rate = self.clock.rate(done)
        now = time.monotonic()
        tenths, silence_s = _TENTHS * done // max(1, total), now - self.said
        is_due = tenths > self.tenths and silence_s >= _SHORTEST_GAP_S
        if done == total or is_due or silence_s >= _LONGEST_SILENCE_S:
            self.said, self.tenths = now, tenths
            say(f"{self.done_to} {done} of {total} calls{pace(rate, total - done)}", err=True)


class _BarStage:
    def __init__(self, bar: Any, doing: str) -> None:
        self.bar = bar
        self.task = bar.add_task(doing, total=None, visible=False, pace="")
        self.clock = _Clock()

    def show(self, done: int, total: int) -> None:
        told = pace(self.clock.rate(done), total - done).removeprefix(", ")
        self.bar.update(self.task, completed=done, total=total, visible=True, pace=told)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    return Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        "{task.fields[pace]}",
        console=Console(stderr=True),
    )


def pace(rate: float | None, left: int) -> str:
    """Return ``, 3.2 calls/s, 40 s left``; nothing while no rate is known.

    >>> pace(3.21, 128)
    ', 3.2 calls/s, 40 s left'
    >>> pace(0.05, 0)
    ', 3.0 calls/min'
    >>> pace(None, 10)
    ''
    """
    if rate is None:
        return ""
    is_slow = rate < 1
    told = f"{rate * _MINUTE_S:.1f} calls/min" if is_slow else f"{rate:.1f} calls/s"
    return f", {told}, {time_left(left / rate)} left" if left else f", {told}"


def time_left(seconds: float) -> str:
    """Return a duration in the unit in which a person waits for it.

    >>> time_left(40.2), time_left(170), time_left(9000)
    ('40 s', '3 min', '2.5 h')
    """
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.1f} h"
