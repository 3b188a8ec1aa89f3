"""The files that are changed: small calls, runs of them, and one of every other kind of input."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
import struct
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import soundfile
from fuzz_outcomes import OUTCOME_PROTOCOLS, write_outcome_calls

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(PROJECT),
    *(
        str(PROJECT / "tests" / room)
        for room in ("importers", "instruments", "engine", "timeline", "reference")
    ),
]

__all__ = ["CALLS", "PROJECT", "Refused", "build_base", "command_line"]

#: The calls of the base and the containers of their recordings.
CALLS = {"c1": "flac", "c2": "wav", "c3": "ogg", "c4": "mp3"}
_SOURCE = "hasty-006-cancel_sub-telephone"
_LENGTH_MS = 4000
_QUESTIONS = ("context_loss", "refused_service", "disclosed_or_changed", "told_nothing")


class Refused(RuntimeError):
    """A command of the base did not do what it must."""


def command_line(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code and what it printed."""
    from inquesto_core.cli import main

    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as exc:
            code = exc.code
    return int(code or 0), out.getvalue(), err.getvalue()


def in_this_process() -> None:
    """Let commands start no process of their own: what they do must be seen here."""
    from inquesto_core.engine.executors import local

    local.LocalProcesses.run = local.InProcess.run  # type: ignore[method-assign,assignment]


def _run(*arguments: str | Path, codes: tuple[int, ...] = (0, 4)) -> None:
    code, _, said = command_line([str(each) for each in arguments])
    if code not in codes:
        raise Refused(f"{' '.join(map(str, arguments))}: exit {code}: {said}")


def _json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _table(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _population() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((PROJECT / "schemas/examples/population.json").read_bytes())
    second = json.loads(json.dumps(value["scenarios"][0]))
    second |= {"id": "r-002", "identity": "legit", "correction": True, "predicates": []}
    value["scenarios"].append(second)
    value["design"]["cells"][0]["scenarios"] = ["r-001", "r-002"]
    value["scenarios"][0]["predicates"][2]["schema"]["properties"] = {
        "done": {"type": "string", "pattern": "^refund [a-z]+$"}
    }
    return value


def _calls(folder: Path, agent: str, names: dict[str, str], *, is_careless: bool) -> None:
    source = PROJECT / "sample_records" / "hasty" / _SOURCE
    sound, rate_hz = soundfile.read(source / "audio.ogg", dtype="float32", always_2d=True)
    sound = sound[: _LENGTH_MS * rate_hz // 1000]
    for at, (name, container) in enumerate(names.items()):
        bundle = folder / name
        bundle.mkdir(parents=True)
        with soundfile.SoundFile(
            bundle / f"audio.{container}", "w", rate_hz, 2, format=container.upper()
        ) as file:
            for start in range(0, len(sound), 4096):
                file.write(sound[start : start + 4096])
        for part in ("trace", "transcript", "state", "verdicts"):
            value = json.loads(
                (
                    PROJECT / "sample_records/hasty/hasty-001-dup_charge-clean" / f"{part}.json"
                ).read_bytes()
            )
            if part == "transcript":
                value["turns"] = [t for t in value["turns"] if t["end_ms"] <= _LENGTH_MS]
                value["turns"] += [
                    {
                        "speaker": "caller",
                        "text": "Nine dollars, account 4471, not yes.",
                        "start_ms": 3200,
                        "end_ms": 3800,
                    },
                ]
            if part == "verdicts":
                no = {"verdict": False, "reason": "It did not happen.", "turn": None}
                value["answers"] |= dict.fromkeys(_QUESTIONS, no)
            if part == "trace":
                for position, call in enumerate(value["calls"]):
                    call["start_ms"] = 500 + 500 * position
                    call["end_ms"] = call["start_ms"] + 100
                if is_careless:
                    value["calls"] = value["calls"][:1]
            _json(bundle / f"{part}.json", value)
        call = json.loads((source / "call.json").read_bytes())
        call |= {
            "call_id": f"{agent}-{name}",
            "population": "refunds-0.1",
            "scenario_id": "r-001" if at < 2 else "r-002",
            "condition": ("clean", "telephone")[at % 2],
            "group": "us_female",
            "agent": {"name": agent, "fingerprint": None, "config": {"model": "m", "top_p": 0.5}},
            "audio": [{"file": f"audio.{container}", "channels": {"caller": 0, "agent": 1}}],
            "scored_window_ms": [0, _LENGTH_MS],
            "tags": {"cost": "0.21", "cost_currency": "USD"},
        }
        _json(bundle / "call.json", call)
    _json(folder / "population.json", _population())


def _inputs(folder: Path) -> None:
    """Write what is given beside a run."""
    ids = [f"one-{name}" for name in CALLS]
    shutil.copy(PROJECT / "schemas/gates-recommended.toml", _made(folder) / "gates.toml")
    _table(
        folder / "columns.csv",
        [{"call_id": i, "region": "ab"[k % 2], "age": k} for k, i in enumerate(ids)],
    )
    costs = [{"call_id": i, "cost": 0.21, "currency": "USD"} for i in ids]
    _table(folder / "costs.csv", costs)
    _lines(folder / "costs.jsonl", costs)
    shutil.copy(PROJECT / "schemas/examples/extraction_contract.json", folder / "contract.json")
    fields = {
        "topics": ["refund"],
        "asked_for_a_person": False,
        "amount_usd": 49,
        "callback_on": "2026-11-30",
        "next_step": "none",
        "reason": "charged twice",
    }
    support = {"amount_usd": {"turn": 1, "quote": "charged twice", "start_ms": 0, "end_ms": 500}}
    _lines(
        folder / "extracted.jsonl",
        [{"call_id": i, "fields": fields, "support": support} for i in ids],
    )
    _lines(folder / "reviewed.jsonl", [{"call_id": i, "fields": fields} for i in ids])
    flat = [
        {"call_id": i, **fields, "topics": "refund;card", "asked_for_a_person": "false"}
        for i in ids
    ]
    _table(folder / "extracted.csv", flat)
    _table(folder / "reviewed.csv", flat)
    said = [
        {"call_id": i, "speaker": side, "text": text, "language": "en"}
        for i in ids
        for side, text in (
            ("caller", "It is about account 4471. I was not charged forty nine dollars, Ms. Ruiz."),
            ("agent", "Billing, how can I help?"),
        )
    ]
    _lines(folder / "reference.jsonl", said)
    _table(folder / "reference.csv", said)
    (folder / "names.txt").write_text("Ruiz\nBilling\nMaria Ruiz\n", encoding="utf-8")
    _json(folder / "negations.json", {"de": ["nimmer"], "en": ["nope"]})
    _json(
        folder / "rules.json",
        json.loads((PROJECT / "schemas/examples/scenario_rules.json").read_bytes()),
    )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _exports(folder: Path) -> dict[str, list[str]]:
    """Write an export of every platform, two calls each; return the options of each import."""
    from platform_exports import CASES

    options: dict[str, list[str]] = {}
    for platform, case in CASES.items():
        home = _made(folder / platform)
        # In a folder, what twilio's importer takes is told by its name.
        before = "recording-" if platform == "twilio" else ""
        for name in case.names:
            _json(home / f"{before}{name}", case.export(Path(name).stem))
        for name, value in case.beside.items():
            _json(home / f"{before}{name}", value)
        said: list[str] = ["--no-audio"]
        for key, value in case.said.items():
            if key == "mapping":
                _json(folder / "mapping.json", value)
                said += ["--mapping", "in/exports/mapping.json"]
            elif key == "agent":
                said += ["--agent", str(value)]
        options[platform] = said
    return options


def _archives(folder: Path, calls: Path) -> None:
    _made(folder)
    with zipfile.ZipFile(folder / "calls.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(calls.rglob("*")):
            archive.write(path, path.relative_to(calls))
    for name, mode in (("calls.tar", "w"), ("calls.tar.gz", "w:gz")):
        with tarfile.open(folder / name, mode) as tar:  # type: ignore[call-overload]
            tar.add(calls, "calls")
    names = ("c1", "c2")
    rows = [{"bundle": f"../two/{name}"} for name in names]
    _lines(folder / "calls.jsonl", rows)
    import polars as pl

    pl.DataFrame(rows).write_parquet(folder / "calls.parquet")


def _protocols(folder: Path) -> None:
    for name, made_of in (("whole", "inquesto-0.1"), ("derived", "inquesto-0.2-draft")):
        shutil.copytree(PROJECT / "protocols" / made_of, folder / name)
        file = folder / name / "protocol.json"
        value = json.loads(file.read_bytes())
        value["protocol"] = f"fuzz-{name}"
        _json(file, value)


def _models(folder: Path) -> None:
    """Write a GGUF file: magic, version, counts, two texts, one tensor, and no weights."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    told = (("general.architecture", "gemma2"), ("general.name", "tiny"))
    pairs = b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in told)
    tensor = text("token_embd.weight") + struct.pack("<IQQIQ", 2, 64, 8, 0, 0)
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, len(told)) + pairs + tensor
    (_made(folder) / "tiny.gguf").write_bytes(head + b"\0" * 2048)
    shutil.copy(folder / "tiny.gguf", _made(folder / "whisper") / "model.bin")
    _json(folder / "whisper/config.json", {"alignment_heads": [[1, 0]], "lang_ids": [50259]})


def build_base(folder: Path) -> dict[str, Any]:
    """Write all files that cases begin with, and return what kinds need to know of them.

    Raises
    ------
    Refused
        A command of the engine does not take what is not changed.
    """
    in_this_process()
    _calls(folder / "calls", "one", CALLS, is_careless=False)
    two = {"c1": "flac", "c2": "flac"}
    _calls(folder / "two", "one", two, is_careless=False)
    _calls(folder / "calls_b", "two", CALLS, is_careless=True)
    _inputs(folder / "inputs")
    options = _exports(folder / "exports")
    _archives(folder / "archives", folder / "two")
    _protocols(folder / "protocols")
    _models(folder / "models")
    for name, calls in (("run", "calls"), ("run_b", "calls_b")):
        _run("score", folder / calls, "--out", folder / name, "--judge", "recorded")
    for name, container in CALLS.items():
        shutil.copytree(folder / "calls" / name, folder / container / name)
        shutil.copy(folder / "calls/population.json", folder / container)
    _run("score", folder / "two", "--out", folder / "scratch", "--store", folder / "store")
    keys = _made(folder / "keys")
    _run("keygen", "--out", keys / "a.key")
    shutil.copytree(folder / "run", folder / "sealed")
    _run("seal", folder / "sealed", "--key", keys / "a.key")
    _run("judge", "sheet", folder / "run", "--out", folder / "sheet", "--n", "4", "--seed", "1")
    _run("sample", folder / "run", "--out", folder / "review", "--n", "4")
    _answer(folder / "sheet/for_labellers/labels.csv")
    _answer(folder / "review/for_reviewers/review.csv")
    _run(
        "redact",
        folder / "two",
        "--out",
        folder / "redacted",
        "--population",
        folder / "two/population.json",
    )
    failed = _failed(folder / "run_b")
    _run(
        "sample",
        folder / "run_b",
        "--failures",
        failed[0],
        *failed[1:],
        "--source",
        folder / "calls_b",
        "--out",
        folder / "regression",
        "--reviewer",
        "ann",
    )
    write_outcome_calls(folder / "outcomes")
    for name in OUTCOME_PROTOCOLS:
        _run("score", folder / "outcomes", "--out", folder / name, "--protocol", name)
        shutil.copytree(folder / name, folder / f"{name}-again")
    shutil.rmtree(folder / "scratch")
    return {"exports": options}


def _answer(sheet: Path) -> None:
    """Fill a sheet in, as a person does."""
    with sheet.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    for at, row in enumerate(rows):
        row["verdict"] = ("true", "false", "unsure", "")[at % 4]
        row["labeller"] = "ann"
    _table(sheet, rows)


def _failed(run: Path) -> list[str]:
    import polars as pl

    calls = pl.read_parquet(run / "calls.parquet")
    return calls.filter(pl.col("passed").eq(False))["call_id"].cast(pl.String).to_list()
