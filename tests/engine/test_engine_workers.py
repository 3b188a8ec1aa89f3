"""Who does the work changes no byte; what one call does to its worker changes no other call."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core import engine
from inquesto_core.bundle import BundleRef
from inquesto_core.engine import extract, run
from inquesto_core.engine.executors import InProcess, LocalProcesses, Lost, choose_executor
from inquesto_core.engine.executors.dispatch import Done, Gone, Ready, dispatch
from inquesto_core.errors import InstrumentError, Problem, ProtocolError, StoreError
from inquesto_core.evidence.store import EvidenceStore

KILLER = "hasty-016-change_email-clean"


def in_order(found, n):
    results = dict(found)
    assert sorted(results) == list(range(n))
    return [results[at] for at in range(n)]


# What a worker does in these tests: it is imported by its name, and so stands in a module.


def doubled(task):
    return 2 * task


def process_of(folder):
    """Return this process, once two have begun: one that is slow to start is waited for."""
    (Path(folder) / str(os.getpid())).touch()
    for _ in range(1200):
        if len(list(Path(folder).iterdir())) >= 2:
            break
        time.sleep(0.05)
    return os.getpid()


def strict(task):
    if task == 3:
        raise StoreError(Problem(code="store_unwritable", found="no room"))
    return task


def deadly(task):
    if task % 4 == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


@dataclass(frozen=True)
class DeadlyOnce:
    """Ends its worker at the first try of some tasks; says by a file that it was tried."""

    folder: Path

    def __call__(self, task):
        tried = self.folder / str(task)
        if task % 3 == 0 and not tried.exists():
            tried.touch()
            os._exit(7)
        return task


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def unreadable(_task):
    raise Unpicklable("not", "portable")


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(1), LocalProcesses(2)], ids=str)
def test_every_task_is_done_once_wherever_it_is_done(executor):
    order = list(range(20))
    random.Random(1).shuffle(order)
    found = executor.run(doubled, range(20), order=order)
    assert in_order(found, 20) == [2 * task for task in range(20)]


def test_workers_are_as_many_as_asked_for_and_not_this_process(tmp_path):
    tasks = [str(tmp_path)] * 8
    used = set(in_order(LocalProcesses(2).run(process_of, tasks, order=range(8)), 8))
    assert len(used) == 2
    assert os.getpid() not in used


def test_an_error_that_concerns_all_comes_back_as_itself():
    with pytest.raises(StoreError, match="no room") as caught:
        list(LocalProcesses(2).run(strict, range(6), order=range(6)))
    assert caught.value.problem.code == "store_unwritable"


def test_an_error_that_cannot_travel_comes_back_in_words():
    with pytest.raises(RuntimeError, match="Unpicklable: not portable"):
        list(LocalProcesses(1).run(unreadable, range(1), order=range(1)))


def test_a_task_that_ends_two_workers_is_given_up_and_all_others_are_done():
    found = in_order(LocalProcesses(2).run(deadly, range(5), order=range(5)), 5)
    assert found == [0, Lost(times=2, how="its process was ended by SIGKILL"), 2, 3, 4]


def test_a_task_whose_worker_dies_once_is_done_by_another(tmp_path):
    found = LocalProcesses(2).run(DeadlyOnce(tmp_path), range(5), order=range(5))
    assert in_order(found, 5) == list(range(5))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "3"]


def test_workers_that_cannot_start_are_one_error(monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(InstrumentError, match="ended before their first task") as caught:
        list(LocalProcesses(2).run(doubled, range(3), order=range(3)))
    assert caught.value.problem.code == "workers_failed"


def test_an_executor_is_known_by_its_name():
    assert choose_executor("local", workers=0) == InProcess()
    assert choose_executor("local", workers=3) == LocalProcesses(3)
    with pytest.raises(ProtocolError, match="'grid' is no executor; expected local or ray"):
        choose_executor("grid", workers=1)


def test_a_missing_ray_is_named_with_how_to_add_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InstrumentError, match="bin/setup ray") as caught:
        choose_executor("ray", workers=1)
    assert caught.value.problem.code == "extra_missing"


class FakeHand:
    def __init__(self):
        self.tasks: list[int] = []
        self.is_ready = False

    def give(self, position):
        assert self.is_ready
        self.tasks.append(position)


class FakeCrew:
    """Workers that a random source ends at any moment."""

    def __init__(self, size, tries, chance, p_gone):
        self.size, self.tries = size, tries
        self.chance, self.p_gone = chance, p_gone
        self.ends: list[int] = []
        self.most_held = self.closed = 0

    def hire(self):
        return FakeHand()

    def wait(self, hands):
        at_work = [hand for hand in hands if hand.tasks or not hand.is_ready]
        assert at_work, "waits for ever"
        assert len(hands) <= self.size
        self.most_held = max(self.most_held, *(len(hand.tasks) for hand in hands))
        hand = self.chance.choice(at_work)
        if not hand.is_ready:
            hand.is_ready = True
            return [Ready(hand)]
        task = hand.tasks.pop(0)
        if self.chance.random() < self.p_gone:
            self.ends.append(task)
            return [Gone(hand, "by chance")]
        return [Done(hand, task)]

    def close(self):
        self.closed += 1


@given(
    st.integers(0, 40),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(),
    st.floats(0, 0.9),
)
def test_whoever_ends_every_task_is_decided_once(n, size, tries, seed, p_gone):
    crew = FakeCrew(size, tries, random.Random(seed), p_gone)
    found = in_order(dispatch(range(n), crew), n)
    for task, value in enumerate(found):
        if isinstance(value, Lost):
            assert crew.ends.count(task) == value.times == tries
        else:
            assert value == task
            assert crew.ends.count(task) < tries
    assert crew.most_held <= 2
    assert crew.closed == 1


# Calls


@dataclass(frozen=True)
class Sabotaged:
    """What is done with a bundle, but for one that ends its worker or makes it fail."""

    do: Any
    how: str

    def __call__(self, task: Any) -> Any:
        label = task.label if isinstance(task, BundleRef) else task[0].label
        if KILLER not in label:
            return self.do(task)
        if self.how == "always ends" or (
            self.how == "ends measuring" and isinstance(self.do, extract.Measuring)
        ):
            os.kill(os.getpid(), signal.SIGKILL)
        measure = extract.measure_call
        if self.how == "fails":
            extract.measure_call = fail
        try:
            return self.do(task)
        finally:
            extract.measure_call = measure


def fail(*_args, **_more):
    raise ZeroDivisionError("in the middle of a call")


@dataclass(frozen=True)
class Saboteur:
    how: str
    is_remote = False

    def run(self, do, tasks, *, order, gpus=0):
        return LocalProcesses(2).run(Sabotaged(do, self.how), tasks, order=order)


@pytest.fixture(scope="module")
def whole(six_calls, tmp_path_factory):
    return engine.score([six_calls], out=tmp_path_factory.mktemp("whole") / "RUN", workers=1)


@pytest.mark.parametrize(
    ("how", "state", "code"),
    [
        ("fails", "not_evaluated", "measurement_failed"),
        ("ends measuring", "not_evaluated", "worker_lost"),
        ("always ends", "excluded", "worker_lost"),
    ],
)
def test_a_call_that_cannot_be_measured_is_its_own_state_and_no_other_calls(
    how, state, code, whole, six_calls, tmp_path, monkeypatch
):
    monkeypatch.setattr(run, "choose_executor", lambda *_, **__: Saboteur(how))
    found = engine.score([six_calls], out=tmp_path / "RUN", store=tmp_path / "STORE")
    states = dict(found.decisions.drop_nulls("call_id").select("call_id", "state").rows())
    (killer,) = {call for call in states if KILLER in call}  # known by its folder only at the last
    assert states.pop(killer) == state
    expected = dict(whole.decisions.drop_nulls("call_id").select("call_id", "state").rows())
    assert states == {call: expected[call] for call in states}
    (problem,) = found.tables["problems"].filter(level="error").rows(named=True)
    assert (problem["call_id"], problem["code"]) == (killer, code)
    if state == "not_evaluated":
        reasons = dict(found.decisions.select("call_id", "reasons").rows())[KILLER]
        assert reasons == ["measurement_failed"]
    assert found.has_bad_input
    monkeypatch.undo()
    again = engine.score([six_calls], out=tmp_path / "RUN2", store=tmp_path / "STORE")
    assert again.records == whole.records


def test_rows_stay_in_the_store_and_are_measured_again_where_they_are_damaged(
    six_calls, tmp_path, monkeypatch
):
    protocol = extract.load_protocol("inquesto-0.1")
    store = EvidenceStore.open(tmp_path / "STORE")
    refs = [BundleRef(path=path, label=path.name) for path in sorted(six_calls.glob("*-*"))[:2]]
    found = extract.extract_all(
        refs, protocol=protocol, kept=store.root, executor=InProcess(), progress=lambda *_: None
    )
    assert [item.own for item in found] == [None, None]
    first, second = (item.rows for item in found)
    (path,) = (tmp_path / "STORE").glob(f"loose/*/*.{found[0].key}")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert found[0].rows == first
    monkeypatch.setattr(extract, "measure_call", fail)
    assert [item.rows for item in found] == [first, second]


def test_the_largest_bundle_is_begun_first(tmp_path):
    refs = []
    for name, size in (("a", 10), ("b", 300), ("c", 20), ("d", 300)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "audio.flac").write_bytes(bytes(size))
        refs.append(BundleRef(path=tmp_path / name, label=name))
    refs.append(BundleRef(path=tmp_path / "absent", label="absent"))
    assert [refs[at].label for at in extract.longest_first(refs)] == ["b", "d", "c", "a", "absent"]


def test_what_a_worker_cannot_import_ends_the_run_and_hangs_nothing():
    class Local:
        def __call__(self, task):
            return task

    Local.__qualname__, Local.__module__ = "Nowhere", "inquesto_core.canonical"
    sys.modules["inquesto_core.canonical"].Nowhere = Local
    try:
        results = LocalProcesses(1).run(Local(), [1], order=[0])
        with pytest.raises(AttributeError, match="Nowhere"):
            next(results)
    finally:
        del sys.modules["inquesto_core.canonical"].Nowhere
