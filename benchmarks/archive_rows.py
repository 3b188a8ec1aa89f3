"""A synthetic archive: as many calls as asked for, with rows of realistic number and width.

A call has 32 segments, 12 trace rows and 4 verdicts. Its turns alternate; of a hundred replies one
is late, and three begin before the caller has ended. Arguments, results, reasons and what the judge
wrote are texts of the length that they have in real traces. The rows of a partition follow from the
seed, the partition and its calls alone, so that any number of processes writes the same archive.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from inquesto_core.evidence import TABLES

SEGMENTS, TOOLS, VERDICTS = 32, 12, 4
AGENT = "sha256:" + "5e" * 8
QUESTIONS = (
    "context_loss",
    "disclosed_or_changed",
    "goal_achieved",
    "refused_service",
    "wrong_info",
)
NAMES = (
    "lookup_account",
    "verify_voice",
    "search_policies",
    "get_invoice",
    "list_orders",
    "issue_refund",
    "update_card",
    "update_email",
    "send_message",
    "get_status",
    "log_note",
    "end_call",
)
HEX = 64


@dataclass(frozen=True)
class Design:
    """What every call is of: the cells of a population, one after the other, trial by trial."""

    cells: tuple[tuple[str, str, str], ...]
    asked: dict[str, str]  # scenario to the fourth question

    def slots(self, index: np.ndarray) -> pl.DataFrame:
        """Return scenario, condition, group and trial of calls by number."""
        cells = pl.DataFrame(
            list(self.cells), schema=["scenario_id", "condition", "group"], orient="row"
        )
        rows = cells[(index % len(self.cells)).tolist()]
        return rows.with_columns(trial=pl.Series(index // len(self.cells), dtype=pl.Int64))


def design_of(population: dict) -> Design:
    """Return the design of a population document."""
    cells = [
        (scenario, condition, group)
        for cell in population["design"]["cells"]
        for scenario in cell["scenarios"]
        for condition in cell["conditions"]
        for group in cell["groups"]
    ]
    fourth = {"legit": "refused_service", "impostor": "disclosed_or_changed", None: "context_loss"}
    asked = {each["id"]: fourth[each["identity"]] for each in population["scenarios"]}
    return Design(cells=tuple(cells), asked=asked)


def call_id(seed: int, number: int) -> str:
    """Return the name of a call, 36 characters as a UUID has."""
    text = hashlib.sha256(f"{seed}/{number}".encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def partitions(seed: int, calls: int, bits: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each partition and the numbers of its calls."""
    place = np.empty(calls, dtype=np.uint16)
    for number in range(calls):
        digest = hashlib.sha256(call_id(seed, number).encode()).digest()
        place[number] = int.from_bytes(digest[:2], "big") >> (16 - bits) if bits else 0
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(2**bits + 1))
    for part in range(2**bits):
        numbers = order[bounds[part] : bounds[part + 1]]
        yield (f"{part << (16 - bits):04x}" if bits else ""), numbers


def tables_of(seed: int, numbers: np.ndarray, design: Design) -> dict[str, pl.DataFrame]:
    """Return the evidence of calls by number."""
    names = np.array([call_id(seed, number) for number in numbers.tolist()], dtype=object)
    order = np.argsort(names)
    names, numbers = names[order], numbers[order]
    rng = np.random.default_rng([seed, int(numbers[0]) if len(numbers) else 0])
    ids = pl.Series("call_id", names.tolist(), dtype=pl.String)
    start, end = _segments(rng, len(ids))
    last = end.max(axis=1) + 1500
    slots = design.slots(numbers)
    return {
        "calls": _calls(ids, slots, last),
        "segments": _segment_table(ids, start, end),
        "tool_calls": _tool_calls(rng, ids, last),
        "verdicts": _verdicts(rng, ids, slots, design),
    }


def _segments(rng: np.random.Generator, calls: int) -> tuple[np.ndarray, np.ndarray]:
    shape = (calls, SEGMENTS)
    length, gap = rng.integers(600, 4200, shape), rng.integers(200, 1300, shape)
    chance = rng.random(shape)
    gap = np.where(chance < 0.01, rng.integers(2900, 5000, shape), gap)
    gap = np.where(chance > 0.97, -rng.integers(100, 550, shape), gap)
    gap[:, 0] = 500
    start = np.cumsum(gap, axis=1) + np.cumsum(length, axis=1) - length
    return start, start + length


def _full(value: object, height: int, dtype: type[pl.DataType] = pl.String) -> pl.Series:
    return pl.Series([value], dtype=dtype).new_from_index(0, height)


def _table(table: str, height: int, /, **columns: object) -> pl.DataFrame:
    given = {
        column: columns.get(column, _full(None, height, dtype))
        for column, dtype in TABLES[table].items()
    }
    return pl.DataFrame(given, schema=TABLES[table])


def _calls(ids: pl.Series, slots: pl.DataFrame, last: np.ndarray) -> pl.DataFrame:
    n = len(ids)
    none = pl.Series([[]], dtype=pl.List(pl.String)).new_from_index(0, n)
    return _table(
        "calls",
        n,
        call_id=ids,
        population=_full("archive", n),
        **{name: slots[name] for name in slots.columns},
        agent_name=_full("archive agent", n),
        agent_fingerprint=_full(AGENT, n),
        agent_config=_full("{}", n),
        platform=_full("synthetic", n),
        ended_at=_full("2026-11-30T10:00:00Z", n),
        ended_by=_full("caller", n),
        ended_reason=_full("hangup", n),
        timing_source=_full("measured", n),
        timing_reasons=none,
        condition_class=_full("default", n),
        duration_ms=last,
        window_from_ms=np.zeros(n, dtype=np.int64),
        window_to_ms=last,
        has_trace=_full(True, n, pl.Boolean),
        has_transcript=_full(False, n, pl.Boolean),
        has_verdicts=_full(True, n, pl.Boolean),
        warnings=none,
    )


def _segment_table(ids: pl.Series, start: np.ndarray, end: np.ndarray) -> pl.DataFrame:
    # The agent's come first in the order of the table; it begins the call.
    by_side = np.concatenate([np.arange(0, SEGMENTS, 2), np.arange(1, SEGMENTS, 2)])
    n = start.size
    side = np.tile(np.repeat([0, 1], SEGMENTS // 2), len(ids))
    return _table(
        "segments",
        n,
        call_id=ids.gather(np.repeat(np.arange(len(ids)), SEGMENTS)),
        channel=pl.Series(["agent", "caller"]).gather(side),
        start_ms=start[:, by_side].ravel(),
        end_ms=end[:, by_side].ravel(),
        source=_full("measured", n),
    )


def _text(before: str, numbers: np.ndarray, after: str) -> pl.Series:
    middle = pl.Series("n", numbers).cast(pl.String)
    return pl.select(pl.concat_str(pl.lit(before), pl.lit(middle), pl.lit(after))).to_series()


def _tool_calls(rng: np.random.Generator, ids: pl.Series, last: np.ndarray) -> pl.DataFrame:
    calls, n = len(ids), len(ids) * TOOLS
    start = np.sort((last[:, None] * rng.random((calls, TOOLS)) * 0.98).astype(np.int64), axis=1)
    number = rng.integers(0, 10**9, n)
    arguments = _text(
        '{"account":"4471","amount":"$', number, '","note":"as the caller asked on the phone"}'
    )
    result = _text(
        '{"balance":"$', number, '","status":"active","items":["$49","$49"],"page":{"at":1,"of":3}}'
    )
    return _table(
        "tool_calls",
        n,
        call_id=ids.gather(np.repeat(np.arange(calls), TOOLS)),
        position=np.tile(np.arange(TOOLS), calls),
        id=_text("call_", number, ""),
        name=pl.Series(NAMES).gather(np.tile(np.arange(TOOLS), calls)),
        status=pl.Series(["ok"] * 39 + ["error"]).gather(rng.integers(0, 40, n)),
        start_ms=start.ravel(),
        end_ms=start.ravel() + rng.integers(50, 1500, n),
        arguments=arguments,
        raw_arguments=arguments,
        result=result,
    )


def _verdicts(
    rng: np.random.Generator, ids: pl.Series, slots: pl.DataFrame, design: Design
) -> pl.DataFrame:
    calls, n = len(ids), len(ids) * VERDICTS
    fourth = slots["scenario_id"].replace_strict(design.asked, return_dtype=pl.String)
    # Four of five questions, the fourth by scenario; another fills the place where it is none.
    other = fourth.replace_strict(
        {
            name: "refused_service" if name == "context_loss" else "context_loss"
            for name in QUESTIONS
        },
        return_dtype=pl.String,
    )
    asked = pl.DataFrame(
        {
            "a": fourth,
            "b": other,
            "c": _full("goal_achieved", calls),
            "d": _full("wrong_info", calls),
        }
    )
    question = pl.concat([asked[name] for name in "abcd"])
    place = np.tile(np.arange(calls), VERDICTS)
    chance = rng.random(n)
    verdict = np.where((question == "goal_achieved").to_numpy(), chance < 0.8, chance < 0.02)
    number = rng.integers(0, 10**9, n)
    reason = _text(
        "The agent confirmed the change in turn 14 after the caller asked twice, number ",
        number,
        "",
    )
    raw = pl.select(
        pl.concat_str(
            pl.lit('{"verdict": true, "turn": 14, "reason": "'), pl.lit(reason), pl.lit('"}')
        )
    ).to_series()
    table = _table(
        "verdicts",
        n,
        call_id=ids.gather(place),
        question=question,
        verdict=verdict,
        turn=rng.integers(0, 30, n),
        reason=reason,
        model=_full("gemma2:9b", n),
        model_sha256=_full("f" * HEX, n),
        rubric_sha256=_full("1" * HEX, n),
        source=_full("recorded", n),
        p_true=rng.random(n),
        p_false=rng.random(n),
        raw=raw,
        answer_key=_keys(number),
    )
    return table.sort("call_id", "question")


def _keys(numbers: np.ndarray) -> pl.Series:
    words = [pl.Series(numbers * k + k).cast(pl.String).str.zfill(16) for k in (7, 11, 13, 17)]
    return (
        pl.DataFrame([w.alias(str(k)) for k, w in enumerate(words)])
        .select(pl.concat_str(pl.all()).str.slice(0, HEX))
        .to_series()
    )


def population_of(document: bytes, calls: int) -> dict:
    """Return a population document with as many trials as the calls need."""
    population = json.loads(document)
    cells = len(design_of(population).cells)
    population["name"] = "archive"
    population["design"]["trials"] = -(-calls // cells)
    return population


def width_of(folder: Path, table: str, rows: int) -> float:
    """Return how many bytes a row of a table takes on disk, over all partitions."""
    files = [
        *folder.glob(f"evidence/{table}.parquet"),
        *folder.glob(f"parts/*/evidence/{table}.parquet"),
    ]
    return sum(file.stat().st_size for file in files) / max(rows, 1)
