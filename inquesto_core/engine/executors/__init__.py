"""Where the work of a run is done: in this process, in local processes, on a Ray cluster.

An executor does tasks and knows nothing of calls. The result of a run is the same bytes with each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from inquesto_core.engine.executors.dispatch import Lost
from inquesto_core.engine.executors.local import InProcess, LocalProcesses
from inquesto_core.errors import Problem, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

__all__ = ["EXECUTORS", "Executor", "InProcess", "LocalProcesses", "Lost", "choose_executor"]

EXECUTORS = ("local", "ray")

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Where tasks are done."""

    @property
    def is_remote(self) -> bool:
        """Whether that may be another machine."""

    def run(
        self,
        do: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        order: Sequence[int],
        gpus: int = 0,
    ) -> Generator[tuple[int, Result | Lost], None, None]:
        """Yield each task's position and result, or `Lost`, in the order in which they are done.

        Parameters
        ----------
        do : callable
            A function of a module or an instance of such a class, which a worker imports; what it
            loads stays in that worker.
        order : sequence of int
            Positions in the order in which they are begun.
        gpus : int
            GPUs that a worker on a cluster needs.
        """


def choose_executor(name: str, *, workers: int, address: str | None = None) -> Executor:
    """Return the executor of that name.

    Parameters
    ----------
    name : str
        One of `EXECUTORS`.
    workers : int
        Processes or actors; 0 = in this process, or as many actors as the cluster has processors.
    address : str, optional
        A running Ray cluster's; default: one of this machine, for this run.

    Raises
    ------
    ProtocolError
        ``executor_unknown``.
    InstrumentError
        ``extra_missing``; ``cluster_unreachable``.
    """
    if name == "local":
        return LocalProcesses(workers) if workers else InProcess()
    if name == "ray":
        from inquesto_core.engine.executors.ray_cluster import RayCluster

        return RayCluster(workers=workers, address=address)
    raise ProtocolError(
        Problem(
            code="executor_unknown",
            found=f"{name!r} is no executor",
            expected=" or ".join(EXECUTORS),
        )
    )
