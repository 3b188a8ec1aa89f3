"""Which model judges a run, what it is asked, and where its answers wait.

The model is found before anything is measured, so that a missing one costs no time. A question is
asked exactly where `events.judged` expects its answer.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import digest_json
from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.events.judged import asked_where, judged_questions
from inquesto_core.events.trace import is_handoff_by_trace
from inquesto_core.evidence import make_table
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.instruments.judge import AskedCall, Judge, JudgeModel, judge_calls
from inquesto_core.instruments.judge_llama import CPU, LlamaJudge, judge_device
from inquesto_core.instruments.judge_prompt import SpokenTurn
from inquesto_core.instruments.judge_settings import judge_settings
from inquesto_core.instruments.model_files import named_model_file, require_model_file
from inquesto_core.instruments.rubric import load_rubric
from inquesto_core.protocol import asking_of
from inquesto_core.score import JudgeUse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inquesto_core.instruments.judge_settings import JudgeSettings
    from inquesto_core.instruments.rubric import Form
    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "ANSWER_KIND",
    "ChosenJudge",
    "Judged",
    "answers_made_by",
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


def answers_made_by(protocol: Protocol, model_sha256: str) -> str:
    """Return the digest of what answers: a model under a protocol's pin and rubric."""
    return digest_json({"asking": asking_of(protocol), "model": model_sha256})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenJudge:
    """The model that answers, before it is loaded.

    Parameters
    ----------
    use : JudgeUse
        What the record says of it: ``pinned`` only for the pinned file on the pinned build and
        class of device.
    settings : JudgeSettings
        What is pinned, but for the layers on a GPU that the user asks for.
    """

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
    return ChosenJudge(path=path, sha256=sha256, use=use, settings=settings)


def _form(identity: str | None, *, is_handoff: bool) -> Form:
    if identity == "impostor":
        return "impostor"
    return "handoff" if is_handoff else "solvable"


def _spoken(transcript: pl.DataFrame) -> dict[str, tuple[SpokenTurn, ...]]:
    """Return each call's turns: what was heard, where that differs from what was written."""
    turns = transcript.sort("call_id", "position").select(
        "call_id", "speaker", text=pl.coalesce("heard_text", "text")
    )
    by_call: dict[str, list[SpokenTurn]] = {}
    for call_id, speaker, text in turns.rows():
        by_call.setdefault(call_id, []).append(SpokenTurn(speaker=speaker, text=text or ""))
    return {call_id: tuple(spoken) for call_id, spoken in by_call.items()}


def asked_calls(
    tables: Mapping[str, pl.DataFrame], *, protocol: Protocol, population: Population
) -> list[AskedCall]:
    """Return the calls that are judged, sorted by id, each with the questions asked about it.

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
    return [
        AskedCall(
            call_id=row["call_id"],
            goal=row["goal"],
            identity=row["identity"],
            form=_form(row["identity"], is_handoff=row["handoff"]),
            questions=tuple(sorted(name for name in questions if row[f"asked_{name}"])),
            turns=spoken.get(row["call_id"], ()) if row["has_transcript"] else None,
        )
        for row in rows.iter_rows(named=True)
    ]


def judge_run(
    tables: Mapping[str, pl.DataFrame],
    chosen: ChosenJudge,
    *,
    protocol: Protocol,
    population: Population,
    kept: Path,
    progress: Callable[[int, int], None],
) -> Judged:
    """Return the chosen model's answers about a run's calls.

    Parameters
    ----------
    kept : Path
        The evidence store of answers already given; those found there are not asked for again.

    Raises
    ------
    InstrumentError
        The model cannot be loaded or fails.
    """
    settings, rubric, shelves = chosen.settings, load_rubric(protocol), EvidenceStore.of(kept)
    made_by = answers_made_by(protocol, chosen.sha256)
    backend = LlamaJudge(chosen.path, settings=settings)
    try:
        judge = Judge(
            model=JudgeModel(
                backend=backend, name=chosen.use.model or chosen.path.name, sha256=chosen.sha256
            ),
            rubric=rubric,
            facts=population.facts,
            settings=settings,
            store=shelves.shelf(ANSWER_KIND, call_id="", made_by=made_by),
        )
        calls = asked_calls(tables, protocol=protocol, population=population)
        rows = judge_calls(
            calls,
            judge,
            store_of=lambda call: shelves.shelf(ANSWER_KIND, call_id=call, made_by=made_by),
            progress=progress,
        )
        verdicts = make_table("verdicts", rows)
    finally:
        backend.close()
    total = pl.col("p_true") + pl.col("p_false")
    margin = (pl.col("p_true") - pl.col("p_false")).abs()
    answered = verdicts.filter(pl.col("verdict").is_not_null())
    return Judged(
        verdicts=verdicts,
        provenance={
            "model": chosen.use.model,
            "sha256": chosen.sha256,
            "is_pinned": chosen.use.kind == "pinned",
            "library": f"{settings.library} {importlib.metadata.version(settings.library)}",
            "device": backend.device,
            "gpu_layers": settings.gpu_layers,
            "build": backend.build,
            "rubric_sha256": rubric.sha256,
            "asked": verdicts.height,
            "undetermined": verdicts.height - answered.height,
            "fragile": answered.filter(margin < settings.fragile_margin * total).height,
        },
    )
