"""Which model judges a run, what it is asked, and where its answers wait.

The model is found before anything is measured, so that a missing one costs no time. A question is
asked exactly where `events.judged` expects its answer.

In this machine one model answers with all processors; on a cluster each worker loads the model
once and answers about whole calls. Which of them answers changes no bit: the judge's cache is one
sequence that begins anew where two prompts differ.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import digest_json
from inquesto_core.engine.executors import Lost
from inquesto_core.engine.extract import protocol_name, require_shared
from inquesto_core.engine.judge_markers import with_markers
from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.events.judged import asked_where, judged_questions
from inquesto_core.events.predicates import asked_claims
from inquesto_core.events.trace import is_handoff_by_trace
from inquesto_core.evidence import make_table
from inquesto_core.evidence.store import EvidenceStore, Shelf
from inquesto_core.instruments.judge import AskedCall, Judge, JudgeModel, judge_calls
from inquesto_core.instruments.judge_llama import CPU, LlamaJudge, judge_device
from inquesto_core.instruments.judge_prompt import SpokenTurn
from inquesto_core.instruments.judge_settings import judge_settings
from inquesto_core.instruments.model_files import named_model_file, require_model_file
from inquesto_core.instruments.rubric import load_rubric
from inquesto_core.protocol import asking_of, load_protocol
from inquesto_core.score import JudgeUse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inquesto_core.engine.executors import Executor
    from inquesto_core.instruments.judge_settings import JudgeSettings
    from inquesto_core.instruments.rubric import Form, Rubric
    from inquesto_core.places import Location
    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "ANSWER_KIND",
    "ChosenJudge",
    "Judged",
    "answers_made_by",
    "ask_calls",
    "asked_calls",
    "choose_judge",
    "judge_run",
    "needs_model",
]

_GGUF = "gguf:"
_WITHOUT_MODEL = ("auto", "none", "recorded")
_PINNED = "pinned"


#: The kind of entry that an answer is.
ANSWER_KIND = "answer"
#: Why questions about a call have no answer: no worker that asked them survived.
_WORKER_LOST = "worker_lost"

Row = dict[str, Any]


def answers_made_by(protocol: Protocol, model_sha256: str) -> str:
    """Return the digest of what answers: a model under a protocol's pin and rubric."""
    return digest_json({"asking": asking_of(protocol), "model": model_sha256})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenJudge:
    """The model that answers, before it is loaded.

    Parameters
    ----------
    spec : str
        How it was named: where another machine finds it.
    use : JudgeUse
        What the record says of it: ``pinned`` only for the pinned file on the pinned build and
        class of device.
    settings : JudgeSettings
        What is pinned, but for the layers on a GPU that the user asks for.
    """

    spec: str
    path: Path
    sha256: str
    use: JudgeUse
    settings: JudgeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Table ``verdicts``, and what the record says of how it came about."""

    verdicts: pl.DataFrame
    provenance: dict[str, Any]


def needs_model(spec: str) -> bool:
    """Return whether a specification needs a model.

    Raises
    ------
    InstrumentError
        Code ``judge_unknown``.
    """
    if spec in _WITHOUT_MODEL:
        return False
    if spec == _PINNED or (spec.startswith(_GGUF) and len(spec) > len(_GGUF)):
        return True
    raise InstrumentError(
        Problem(
            code="judge_unknown",
            found=f"{spec!r} is no judge",
            expected=f"{', '.join(_WITHOUT_MODEL)}, {_PINNED} or {_GGUF}PATH",
        )
    )


def choose_judge(spec: str, protocol: Protocol, *, gpu_layers: int | None = None) -> ChosenJudge:
    """Return the model that ``pinned`` or ``gguf:PATH`` names, its SHA-256 known.

    Parameters
    ----------
    gpu_layers : int, optional
        How many of its layers a GPU evaluates; default: as the protocol pins.

    Raises
    ------
    InstrumentError
        ``extra_missing``, ``gpu_missing``, ``model_missing``, ``model_not_pinned``,
        ``model_unreadable``.
    """
    if importlib.util.find_spec("llama_cpp") is None:
        raise InstrumentError(
            Problem(
                code="extra_missing",
                found=f"--judge {spec} needs llama-cpp-python, which is not installed",
                expected="the extra `judge`",
                remedy="bin/setup judge in a checkout, else pip install 'inquesto-core[judge]'; "
                "or use --judge recorded or none",
            )
        )
    pin = protocol.instruments.judge
    settings = judge_settings(pin, gpu_layers=gpu_layers)
    device = judge_device(settings.gpu_layers)
    if spec == _PINNED:
        path, sha256 = require_model_file(pin), pin.sha256
    else:
        path = Path(spec.removeprefix(_GGUF))
        sha256 = str(named_model_file(path).sha256)
    name = pin.name if sha256 == pin.sha256 else path.name
    version = importlib.metadata.version(settings.library)
    unpinned = []
    if version != settings.library_version:
        unpinned.append(f"{settings.library} {version}")
    if settings != judge_settings(pin):
        unpinned.append(device if device == CPU else f"{device}, {settings.gpu_layers} layers")
    label = f"{name} on {', '.join(unpinned)}" if unpinned else name
    kind = "pinned" if sha256 == pin.sha256 and not unpinned else "gguf"
    use = JudgeUse(kind=kind, label=label, model=name, sha256=sha256)  # type: ignore[arg-type]
    return ChosenJudge(spec=spec, path=path, sha256=sha256, use=use, settings=settings)


def _form(identity: str | None, *, is_handoff: bool) -> Form:
    if identity == "impostor":
        return "impostor"
    return "handoff" if is_handoff else "solvable"


def _spoken(transcript: pl.DataFrame) -> dict[str, tuple[SpokenTurn, ...]]:
    """Return each call's turns: what was heard, where that differs from what was written."""
    turns = transcript.sort("call_id", "position").select(
        "call_id", "speaker", "start_ms", text=pl.coalesce("heard_text", "text")
    )
    by_call: dict[str, list[SpokenTurn]] = {}
    for call_id, speaker, start_ms, text in turns.rows():
        spoken = SpokenTurn(speaker=speaker, text=text or "", start_ms=start_ms)
        by_call.setdefault(call_id, []).append(spoken)
    return {call_id: tuple(spoken) for call_id, spoken in by_call.items()}


def asked_calls(
    tables: Mapping[str, pl.DataFrame], *, protocol: Protocol, population: Population
) -> list[AskedCall]:
    """Return the calls that are judged, sorted by id, each with the questions asked about it.

    Beside the protocol's questions these are the claims of its scenario that have a text.

    Excluded calls and those of no known scenario are not asked about.
    """
    questions = judged_questions(protocol)
    scenarios = pl.DataFrame(
        [
            {**row, "goal": scenario.goal}
            for row, scenario in zip(population.scenario_rows(), population.scenarios, strict=True)
        ],
        schema_overrides={"identity": pl.String, "required_action": pl.String},
    ).with_columns(
        scenario_known=pl.lit(value=True),
        handoff_by_trace=pl.col("handoff") & is_handoff_by_trace(protocol, population),
    )
    rows = (
        tables["calls"]
        .filter(pl.col("exclusion_reason").is_null())
        .join(scenarios, on="scenario_id", how="inner")
        .with_columns(
            asked_where(asked).alias(f"asked_{question}") for question, asked in questions.items()
        )
        .sort("call_id")
    )
    spoken = _spoken(tables["transcript"])
    claims = {
        scenario.id: tuple(
            (question, text)
            for question, text in asked_claims(scenario, population).items()
            if question not in questions
        )
        for scenario in population.scenarios
    }
    return [
        AskedCall(
            call_id=row["call_id"],
            goal=row["goal"],
            identity=row["identity"],
            form=_form(row["identity"], is_handoff=row["handoff"]),
            questions=tuple(sorted(name for name in questions if row[f"asked_{name}"])),
            turns=spoken.get(row["call_id"], ()) if row["has_transcript"] else None,
            claims=claims[row["scenario_id"]],
        )
        for row in rows.iter_rows(named=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """One call's verdicts, and on what they were given."""

    rows: list[Row]
    device: str
    build: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """What is done with a call on another machine: a model that is loaded once answers about it."""

    spec: str
    sha256: str
    gpu_layers: int
    protocol: str
    facts: tuple[tuple[str, Any], ...]
    kept: Location

    def __call__(self, call: AskedCall) -> _Answered:
        """Return the verdicts about a call."""
        return _worker.asker(self).answered(call)

    def begin(self) -> _Asker:
        """Load the model, proven to be the one that was chosen."""
        require_shared(self.kept)
        protocol = load_protocol(self.protocol)
        chosen = choose_judge(self.spec, protocol, gpu_layers=self.gpu_layers)
        if chosen.sha256 != self.sha256:
            raise InstrumentError(
                Problem(
                    code="worker_differs",
                    found=f"a worker's --judge {self.spec} has SHA-256 {chosen.sha256}",
                    expected=self.sha256,
                    remedy="put one file on every machine; no answer is lost",
                )
            )
        return _Asker(chosen, protocol=protocol, facts=dict(self.facts), kept=self.kept)


class _Asker:
    """A loaded model, and where its answers wait."""

    def __init__(
        self, chosen: ChosenJudge, *, protocol: Protocol, facts: Mapping[str, Any], kept: Location
    ) -> None:
        self.shelves = EvidenceStore.of(kept)
        self.made_by = answers_made_by(protocol, chosen.sha256)
        self.backend = LlamaJudge(chosen.path, settings=chosen.settings)
        self.judge = Judge(
            model=JudgeModel(
                backend=self.backend,
                name=chosen.use.model or chosen.path.name,
                sha256=chosen.sha256,
            ),
            rubric=load_rubric(protocol),
            facts=facts,
            settings=chosen.settings,
            store=self._shelf(""),
        )

    def _shelf(self, call_id: str) -> Shelf:
        return self.shelves.shelf(ANSWER_KIND, call_id=call_id, made_by=self.made_by)

    def rows(self, calls: Sequence[AskedCall], progress: Callable[[int, int], None]) -> list[Row]:
        return judge_calls(calls, self.judge, store_of=self._shelf, progress=progress)

    def answered(self, call: AskedCall) -> _Answered:
        rows = self.rows([call], lambda _done, _total: None)
        return _Answered(rows=rows, device=self.backend.device, build=self.backend.build)


class _Worker:
    """The model of one process, loaded when first asked."""

    made_for: _Asking | None = None
    loaded: _Asker | None = None

    def asker(self, asking: _Asking) -> _Asker:
        if self.loaded is None or self.made_for != asking:
            self.loaded = asking.begin()
            self.made_for = asking
        return self.loaded


_worker = _Worker()


def judge_run(
    tables: Mapping[str, pl.DataFrame],
    chosen: ChosenJudge,
    *,
    protocol: Protocol,
    population: Population,
    kept: Location,
    executor: Executor,
    progress: Callable[[int, int], None],
) -> Judged:
    """Return the chosen model's answers about a run's calls.

    Parameters
    ----------
    kept : Location
        The evidence store of answers already given; those found there are not asked for again.
    executor : Executor
        A cluster asks on its own machines; any other has the model answer here.

    Raises
    ------
    InstrumentError
        The model cannot be loaded or fails.
    """
    rubric = load_rubric(protocol)
    asked = asked_calls(tables, protocol=protocol, population=population)
    calls = with_markers(asked, tables, rubric.markers)
    if executor.is_remote and calls:
        asking = _Asking(
            spec=chosen.spec,
            sha256=chosen.sha256,
            gpu_layers=chosen.settings.gpu_layers,
            protocol=protocol_name(protocol),
            facts=tuple(population.facts.items()),
            kept=kept.resolve(),
        )
        answered = _ask_elsewhere(calls, asking, chosen, rubric, executor, progress)
        return _judged(answered, chosen, rubric)
    return ask_calls(
        calls, chosen, protocol=protocol, facts=population.facts, kept=kept, progress=progress
    )


def ask_calls(
    calls: Sequence[AskedCall],
    chosen: ChosenJudge,
    *,
    protocol: Protocol,
    facts: Mapping[str, Any],
    kept: Location,
    progress: Callable[[int, int], None],
) -> Judged:
    """Return the chosen model's answers about calls, asked in this process.

    Parameters
    ----------
    facts : mapping
        The population's account record.
    kept : Location
        As for `judge_run`.
    """
    asker = _Asker(chosen, protocol=protocol, facts=facts, kept=kept)
    try:
        answered = _Answered(
            rows=asker.rows(calls, progress),
            device=asker.backend.device,
            build=asker.backend.build,
        )
    finally:
        asker.backend.close()
    return _judged(answered, chosen, load_rubric(protocol))


def _ask_elsewhere(
    calls: Sequence[AskedCall],
    asking: _Asking,
    chosen: ChosenJudge,
    rubric: Rubric,
    executor: Executor,
    progress: Callable[[int, int], None],
) -> _Answered:
    """Return the answers of a cluster's workers, in the order of `calls`."""
    by_call: list[list[Row]] = [[] for _ in calls]
    told: set[tuple[str, str]] = set()
    order = sorted(range(len(calls)), key=lambda at: (-len(calls[at].turns or ()), at))
    gpus = 1 if asking.gpu_layers else 0
    with closing(executor.run(asking, calls, order=order, gpus=gpus)) as results:
        for done, (at, found) in enumerate(results, start=1):
            if isinstance(found, Lost):
                by_call[at] = _lost_rows(calls[at], chosen, rubric)
            else:
                by_call[at] = found.rows
                told.add((found.device, found.build))
            progress(done, len(calls))
    if len(told) != 1:
        raise InstrumentError(
            Problem(
                code="worker_differs",
                found=f"workers judged on {len(told)} builds or devices"
                + "".join(f"; {' on '.join(reversed(pair))}" for pair in sorted(told)),
                expected="one, as answers may differ between them",
                remedy="start the cluster with one kind of machine; no answer is lost",
            )
        )
    ((device, build),) = told
    return _Answered(rows=[row for rows in by_call for row in rows], device=device, build=build)


def _lost_rows(call: AskedCall, chosen: ChosenJudge, rubric: Rubric) -> list[Row]:
    return [
        {
            "call_id": call.call_id,
            "question": question,
            "model": chosen.use.model or chosen.path.name,
            "model_sha256": chosen.sha256,
            "rubric_sha256": rubric.sha256,
            "source": "judge",
            "verdict": None,
            "undetermined": _WORKER_LOST,
        }
        for question in call.every_question
    ]


def _judged(answered: _Answered, chosen: ChosenJudge, rubric: Rubric) -> Judged:
    settings, verdicts = chosen.settings, make_table("verdicts", answered.rows)
    total = pl.col("p_true") + pl.col("p_false")
    margin = (pl.col("p_true") - pl.col("p_false")).abs()
    sure = verdicts.filter(pl.col("verdict").is_not_null())
    return Judged(
        verdicts=verdicts,
        provenance={
            "model": chosen.use.model,
            "sha256": chosen.sha256,
            "is_pinned": chosen.use.kind == "pinned",
            "library": f"{settings.library} {importlib.metadata.version(settings.library)}",
            "device": answered.device,
            "gpu_layers": settings.gpu_layers,
            "build": answered.build,
            "rubric_sha256": rubric.sha256,
            "asked": verdicts.height,
            "undetermined": verdicts.height - sure.height,
            "fragile": sure.filter(margin < settings.fragile_margin * total).height,
        },
    )
