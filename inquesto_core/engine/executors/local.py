"""Work in this process, or in processes of this machine that are replaced when they die.

A worker is a plain interpreter with one end of a socket pair: nothing of the parent is copied or
imported anew, so that a script needs no guard around its main part. It lives in a session of its
own, so that Ctrl-C is the parent's alone to answer, and ends when the parent does (`worker`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any, TypeVar

from inquesto_core.engine.executors.dispatch import Done, Failed, Gone, Lost, Ready, dispatch
from inquesto_core.engine.executors.worker import DONE, READY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence

    from inquesto_core.engine.executors.dispatch import Hand

__all__ = ["ONE_THREAD", "InProcess", "LocalProcesses"]

Task = TypeVar("Task")
Result = TypeVar("Result")

#: A worker is one thread: as many workers as cores leave nothing for more.
ONE_THREAD = dict.fromkeys(
    (
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
#: Memory that was given back is kept for the next partition: asking the system for it again costs a
#: fifth of a reduction. Allocators that do not know these names ignore them.
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 31),
}
#: After so many lost workers a task is given up.
_TRIES = 2
#: How long a process may take to see that it is no longer wanted.
_GRACE_S = 5
#: The search path is the parent's, so that a worker runs the same code.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from inquesto_core.engine.executors.worker import work; work(int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class InProcess:
    """Tasks one after the other, here: what ends this process ends the run."""

    is_remote = False

    def run(
        self,
        do: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        order: Sequence[int],
        gpus: int = 0,
    ) -> Generator[tuple[int, Result | Lost], None, None]:
        """Yield each task's position and result."""
        for position in order:
            yield position, do(tasks[position])


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """So many processes of this machine."""

    workers: int
    is_remote = False

    def run(
        self,
        do: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        order: Sequence[int],
        gpus: int = 0,
    ) -> Generator[tuple[int, Result | Lost], None, None]:
        """Yield each task's position and result, or `Lost`, as they are done.

        Parameters
        ----------
        do : callable
            A function of a module, or an instance of such a class: a worker imports it.
        order : sequence of int
            Positions in the order in which they are begun.

        Raises
        ------
        InstrumentError
            ``workers_failed``.
        Exception
            What `do` raised.
        """
        return dispatch(order, _Crew(do, tasks, size=min(self.workers, max(1, len(order)))))


class _Crew:
    def __init__(self, do: Callable[[Any], Any], tasks: Sequence[Any], *, size: int) -> None:
        self.do, self.tasks = do, tasks
        self.size, self.tries = size, _TRIES
        self.processes: dict[Connection, _Process] = {}

    def hire(self) -> _Process:
        process = _Process(self.do, self.tasks)
        self.processes[process.connection] = process
        return process

    def wait(self, hands: Collection[Hand]) -> Sequence[Ready | Done | Failed | Gone]:
        found = wait(list(self.processes))
        return [self._next(process) for end, process in [*self.processes.items()] if end in found]

    def _next(self, process: _Process) -> Ready | Done | Failed | Gone:
        try:
            kind, value = process.connection.recv()
        except (EOFError, OSError):
            del self.processes[process.connection]
            return Gone(process, process.end())
        if kind == READY:
            return Ready(process)
        return Done(process, value) if kind == DONE else Failed(process, value)

    def close(self) -> None:
        for connection in self.processes:
            connection.close()
        for process in self.processes.values():
            process.end()
        self.processes.clear()


class _Process:
    """One worker process and our end of its connection."""

    def __init__(self, do: Callable[[Any], Any], tasks: Sequence[Any]) -> None:
        self.tasks = tasks
        self.connection, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps(sys.path), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **ONE_THREAD, **KEEP_MEMORY},
                start_new_session=True,
            )
        self._send(do)

    def give(self, position: int) -> None:
        self._send(self.tasks[position])

    def _send(self, message: Any) -> None:
        # One that is gone says so where results are awaited.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)

    def end(self) -> str:
        """End the process, and say how it ended."""
        self.connection.close()
        try:
            code = self.process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if code >= 0:
            return f"its process ended with {code}"
        with contextlib.suppress(ValueError):
            return f"its process was ended by {signal.Signals(-code).name}"
        return f"its process was ended by signal {-code}"
