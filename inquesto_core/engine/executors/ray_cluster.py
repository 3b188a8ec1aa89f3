"""Work on a Ray cluster: actors that load their instruments once, replaced when they are lost.

The one module that imports ray. Ray opens connections between the machines of the cluster, and to
none else: its usage statistics are off and it has no dashboard. A task and its result are small;
what is measured goes from the worker into the evidence store, not through Ray.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from inquesto_core.engine.executors.dispatch import Done, Failed, Gone, Lost, Ready, dispatch
from inquesto_core.engine.executors.local import ONE_THREAD
from inquesto_core.errors import InquestoError, InstrumentError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence

    from inquesto_core.engine.executors.dispatch import Hand

__all__ = ["RayCluster"]

Task = TypeVar("Task")
Result = TypeVar("Result")

#: After so many lost actors a task is given up: a cluster loses machines that no task ended.
_TRIES = 4
#: How long to wait for the first actor of a cluster that has none.
_PATIENCE_S = 300.0
#: How long to wait before looking again whether that time is over.
_STEP_S = 5.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "2",  # so often it looks for a cluster that is not there
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class RayCluster:
    """A running cluster, or one of this machine that ends with this process.

    Parameters
    ----------
    workers : int
        Actors; 0 = as many as the cluster has processors (or GPUs, where each needs one).
    address : str or None
        A running cluster's: ``auto``, ``HOST:PORT``; None = one of this machine for this run.

    Raises
    ------
    InstrumentError
        ``extra_missing``, ``cluster_unreachable``.
    """

    is_remote = True

    def __init__(self, *, workers: int, address: str | None) -> None:
        if importlib.util.find_spec("ray") is None:
            raise InstrumentError(
                Problem(
                    code="extra_missing",
                    found="--executor ray needs ray, which is not installed",
                    expected="the extra `ray`",
                    remedy="bin/setup ray in a checkout, else pip install 'inquesto-core[ray]'; "
                    "or use --executor local",
                )
            )
        os.environ.update(_QUIET)
        self.workers = workers
        self.ray = _connected(address, workers)

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
        do, order
            As for `LocalProcesses.run`.
        gpus : int
            GPUs that an actor needs.

        Raises
        ------
        InstrumentError
            ``workers_failed``: the cluster gives no actor, or none that starts.
        Exception
            What `do` raised.
        """
        size = min(self._size(gpus), max(1, len(order)))
        return dispatch(order, _Crew(self.ray, do, tasks, size=size, gpus=gpus))

    def _size(self, gpus: int) -> int:
        if self.workers:
            return self.workers
        there = self.ray.cluster_resources()
        return max(1, int(there.get("GPU", 0)) // gpus if gpus else int(there.get("CPU", 1)))


def _connected(address: str | None, workers: int) -> Any:
    """Return ray, connected to a cluster; a cluster of our own has a processor for each worker."""
    import ray

    if ray.is_initialized():
        return ray
    own: dict[str, Any] = {"num_cpus": workers or None, "include_dashboard": False}
    try:
        ray.init(
            address=address or "local",
            configure_logging=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if address else own),
        )
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as exc:
        lines = str(exc).strip().splitlines() or [type(exc).__name__]
        raise InstrumentError(
            Problem(
                code="cluster_unreachable",
                found=f"no Ray cluster at {address or 'this machine'}: {lines[-1]}",
                expected="a cluster that was started with `ray start`",
                remedy="name with --address what the head node's `ray start` printed, and give "
                "every machine the cluster's token (docs/scaling.md)",
            )
        ) from exc
    return ray


class _Worker:
    """What an actor does: the same thing with each task."""

    def __init__(self, do: Callable[[Any], Any]) -> None:
        self.do = do

    def ready(self) -> None:
        """Return when the actor has started."""

    def answer(self, task: Any) -> Any:
        """Return a task's result."""
        try:
            return self.do(task)
        except InquestoError as exc:
            return _Raised(exc)


@dataclass(frozen=True, slots=True)
class _Raised:
    """An error as a result, so that it comes back as itself and not as one of Ray's."""

    error: InquestoError


class _Crew:
    def __init__(
        self, ray: Any, do: Callable[[Any], Any], tasks: Sequence[Any], *, size: int, gpus: int
    ) -> None:
        self.ray, self.tasks = ray, tasks
        self.size, self.tries = size, _TRIES
        self.do = ray.put(do)
        self.kind = ray.remote(_Worker).options(
            num_cpus=1, num_gpus=gpus, max_restarts=0, runtime_env={"env_vars": ONE_THREAD}
        )
        self.actors: list[_Actor] = []
        self.ready: set[Hand] = set()
        self.last_seen = time.monotonic()

    def hire(self) -> _Actor:
        actor = _Actor(self.ray, self.kind.remote(self.do), self.tasks)
        self.actors.append(actor)
        return actor

    def wait(self, hands: Collection[Hand]) -> Sequence[Ready | Done | Failed | Gone]:
        """Return what happens next; each actor answers its tasks one after the other."""
        asked = {actor.asked[0]: actor for actor in self.actors if actor.asked}
        done, _ = self.ray.wait([*asked], num_returns=len(asked), timeout=0)
        if not done:
            done, _ = self.ray.wait([*asked], num_returns=1, timeout=_STEP_S)
        events = [self._next(asked[reference]) for reference in done]
        self._keep_patience(bool(events))
        return events

    def _next(self, actor: _Actor) -> Ready | Done | Failed | Gone:
        reference = actor.asked.pop(0)
        try:
            value = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as exc:
            return Failed(actor, RuntimeError(str(exc)))
        except self.ray.exceptions.RayError as exc:
            self.actors.remove(actor)
            self.ready.discard(actor)
            actor.end()
            return Gone(actor, f"{type(exc).__name__} of Ray")
        if actor not in self.ready:
            self.ready.add(actor)
            return Ready(actor)
        return Failed(actor, value.error) if isinstance(value, _Raised) else Done(actor, value)

    def _keep_patience(self, has_events: bool) -> None:
        now = time.monotonic()
        if has_events or self.ready:
            self.last_seen = now
        elif now - self.last_seen > _PATIENCE_S:
            raise InstrumentError(
                Problem(
                    code="workers_failed",
                    found=f"the Ray cluster started no worker in {_PATIENCE_S:.0f} s",
                    expected="a free processor (or GPU) for at least one",
                    remedy="see `ray status`; nothing measured is lost",
                )
            )

    def close(self) -> None:
        for actor in self.actors:
            actor.end()
        self.actors.clear()


class _Actor:
    """One actor, and what it was asked and has not answered."""

    def __init__(self, ray: Any, handle: Any, tasks: Sequence[Any]) -> None:
        self.ray, self.handle, self.tasks = ray, handle, tasks
        self.asked = [handle.ready.remote()]

    def give(self, position: int) -> None:
        self.asked.append(self.handle.answer.remote(self.tasks[position]))

    def end(self) -> None:
        self.ray.kill(self.handle)
