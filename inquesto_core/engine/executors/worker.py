"""What a local worker process does: tasks from its parent, one after the other, until that is gone.

A thread reads the connection while the work goes on. When the parent has closed it, or has ended
in any way, the process ends at once, whatever it is doing; there is nothing to say to anyone.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DONE", "FAILED", "READY", "work"]

READY, DONE, FAILED = "ready", "done", "failed"


def work(descriptor: int) -> None:
    """Do what comes through a connection: first what is done with a task, then tasks."""
    connection = Connection(descriptor)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(connection, messages), daemon=True).start()
    try:
        do = pickle.loads(messages.get())
    except Exception as exc:  # noqa: BLE001 - what it names may not be there for a worker
        _send(connection, (FAILED, _portable(exc)))
        return
    _send(connection, (READY, None))
    while True:
        _send(connection, _answer(do, messages.get()))


def _read(connection: Connection, messages: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            messages.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def _answer(do: Callable[[Any], Any], task: bytes) -> tuple[str, Any]:
    try:
        return DONE, do(pickle.loads(task))
    except Exception as exc:  # noqa: BLE001 - it is raised again where the results are taken
        return FAILED, _portable(exc)


def _portable(error: Exception) -> Exception:
    """Return an error that the parent can read, whatever it holds."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - any class may refuse in its own way
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _send(connection: Connection, message: tuple[str, Any]) -> None:
    try:
        connection.send(message)
    except OSError:
        os._exit(0)
