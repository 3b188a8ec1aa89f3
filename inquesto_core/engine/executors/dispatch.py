"""Who does which task, and what becomes of a task whose worker is lost.

A worker has few tasks in hand, so that memory is bounded and a lost worker takes little with it.
Results come in the order in which they are done; who needs another order sorts by position. A task
whose worker is lost while it is done waits until all others are done, and is then tried again with
nothing else in hand anywhere: it can neither take other tasks with it nor fall to their hunger for
memory. A task that loses its worker too often is given up, and everything else is done.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from inquesto_core.errors import InstrumentError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

__all__ = ["Crew", "Done", "Failed", "Gone", "Hand", "Lost", "Ready", "dispatch"]

#: Tasks that a worker has in hand: the one it does, and the next.
_IN_HAND = 2
#: Workers in a row, beyond one for each place, that may end before they are ready.
_FALSE_STARTS = 2


class Hand(Protocol):
    """One worker."""

    def give(self, position: int) -> None:
        """Hand it a task, which it does after those that it has."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker can take tasks."""

    hand: Hand


@dataclass(frozen=True, slots=True)
class Done:
    """A worker has done the first of its tasks."""

    hand: Hand
    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The first of a worker's tasks ended in an error that concerns all of them."""

    hand: Hand
    error: Exception


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker is lost, with all that it had in hand."""

    hand: Hand
    how: str


class Crew(Protocol):
    """Where workers come from.

    Parameters
    ----------
    size : int
        How many work at once.
    tries : int
        After so many lost workers a task is given up.
    """

    size: int
    tries: int

    def hire(self) -> Hand:
        """Return a new worker, which may not be ready yet."""

    def wait(self, hands: Collection[Hand]) -> Sequence[Ready | Done | Failed | Gone]:
        """Return what happens next, in order for each worker; waits until something does."""

    def close(self) -> None:
        """End every worker."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A task that was given up.

    Parameters
    ----------
    times : int
        So many workers were lost with it.
    how : str
        What is known of the last one's end.
    """

    times: int
    how: str


def dispatch(order: Sequence[int], crew: Crew) -> Generator[tuple[int, Any], None, None]:
    """Yield each task's position with its result or `Lost`, as they are done.

    Parameters
    ----------
    order : sequence of int
        Positions of the tasks, in the order in which they are begun.

    Raises
    ------
    InstrumentError
        ``workers_failed``: no worker can be started.
    Exception
        What a task raised.
    """
    desk = _Desk(order, crew)
    try:
        while desk.is_open:
            desk.hand_out()
            for event in crew.wait(desk.hands):
                yield from desk.outcomes(event)
    finally:
        crew.close()


class _Desk:
    """What waits, and who has what in hand."""

    def __init__(self, order: Sequence[int], crew: Crew) -> None:
        self.crew = crew
        self.waiting = deque(order)
        self.suspects: deque[int] = deque()
        self.losses: Counter[int] = Counter()
        self.in_hand: dict[Hand, deque[int]] = {}
        self.ready: set[Hand] = set()
        self.false_starts = 0

    @property
    def hands(self) -> Collection[Hand]:
        return self.in_hand.keys()

    @property
    def is_open(self) -> bool:
        return bool(self.waiting or self.suspects or any(self.in_hand.values()))

    def hand_out(self) -> None:
        """Hire who is missing, and give each worker its next task before anyone a second one."""
        places = min(self.crew.size, max(1, len(self.waiting)))
        while len(self.in_hand) < places:
            self.in_hand[self.crew.hire()] = deque()
        for held in range(_IN_HAND):
            for hand, tasks in self.in_hand.items():
                if hand in self.ready and len(tasks) == held and self.waiting:
                    self._give(hand, self.waiting.popleft())
        if self.suspects and not self.waiting and not any(self.in_hand.values()) and self.ready:
            self._give(next(iter(self.ready)), self.suspects.popleft())

    def _give(self, hand: Hand, position: int) -> None:
        self.in_hand[hand].append(position)
        hand.give(position)

    def outcomes(
        self, event: Ready | Done | Failed | Gone
    ) -> Generator[tuple[int, Any], None, None]:
        """Take note of what happened; yield what is thereby decided."""
        match event:
            case Ready(hand):
                self.ready.add(hand)
                self.false_starts = 0
            case Done(hand, value):
                yield self.in_hand[hand].popleft(), value
            case Failed(_, error):
                raise error
            case Gone(hand, how):
                yield from self._lose(hand, how)

    def _lose(self, hand: Hand, how: str) -> Generator[tuple[int, Any], None, None]:
        tasks = self.in_hand.pop(hand)
        if hand not in self.ready:
            self._count_false_start(how)
            return
        self.ready.discard(hand)
        if not tasks:
            return
        suspect = tasks.popleft()
        self.waiting.extendleft(reversed(tasks))
        self.losses[suspect] += 1
        if self.losses[suspect] >= self.crew.tries:
            yield suspect, Lost(times=self.losses[suspect], how=how)
        else:
            self.suspects.append(suspect)

    def _count_false_start(self, how: str) -> None:
        self.false_starts += 1
        if self.false_starts > self.crew.size + _FALSE_STARTS:
            raise InstrumentError(
                Problem(
                    code="workers_failed",
                    found=f"{self.false_starts} workers in a row ended before their first task: "
                    f"{how}",
                    expected="processes that start",
                    remedy="free memory, or ask for fewer with --workers; nothing measured is lost",
                )
            )
