"""How well a run's callers were understood: its transcripts beside each other or a reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.canonical import strict_json
from inquesto_core.compare.recognition import TURNS, Recognition, recognition
from inquesto_core.engine.compat import require_evidence
from inquesto_core.engine.keyed_rows import read_keyed_rows, read_lines, refuse_row
from inquesto_core.engine.stored import load_run
from inquesto_core.errors import IncomparableError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["recognition_of_run"]

_SPEAKERS = ("caller", "agent")


def recognition_of_run(
    run: str | Path,
    *,
    reference: str | Path | None = None,
    names: str | Path | None = None,
    negations: str | Path | None = None,
) -> tuple[Recognition, ...]:
    """Return what each of a run's transcripts lost: of a reference, else our own of the platform's.

    Parameters
    ----------
    run : path
    reference : path, optional
        A transcript made by people: rows ``call_id``, ``speaker``, ``text``, and ``language`` where
        it is told; JSON Lines or CSV, in the order spoken.
    names : path, optional
        One name a line: what counts as a name.
    negations : path, optional
        JSON: language code to a list of words, beside the built-in lists.

    Raises
    ------
    IncomparableError
        ``no_second_transcript``: there are no two transcripts of one call.
    SchemaError
        ``rows_invalid``: a file is not as it should be.
    """
    stored = load_run(run, tables=("calls", "transcript", "asr_turns"))
    require_evidence(stored)
    calls = stored.tables["calls"].select("call_id", "group", "condition")
    ours = {
        "platform": _turns(stored.tables["transcript"].filter(pl.col("source") == "platform")),
        "asr": _turns(stored.tables["asr_turns"].with_columns(heard_text=pl.lit(None))),
    }
    said = None if reference is None else _reference(reference)
    if said is None:
        pairs = [("platform", ours["platform"], "asr", ours["asr"])]
    else:
        pairs = [("reference", said, name, turns) for name, turns in ours.items()]
    made = [
        recognition(
            first,
            second,
            calls,
            named=(first_name, second_name),
            names=() if names is None else _names(names),
            negations=None if negations is None else _negations(negations),
        )
        for first_name, first, second_name, second in pairs
        if not first.is_empty() and not second.is_empty()
    ]
    found = tuple(each for each in made if not each.counts.is_empty() or each.too_long)
    if not found:
        raise IncomparableError(_no_pair(calls, said))
    return found


def _no_pair(calls: pl.DataFrame, said: pl.DataFrame | None) -> Problem:
    if said is not None and not set(said["call_id"]) & set(calls["call_id"]):
        return Problem(
            code="no_second_transcript",
            found="the reference and the run have no call in common",
            expected="the call ids of calls.parquet",
        )
    return Problem(
        code="no_second_transcript",
        found="no call of the run has two transcripts",
        expected="a platform's transcript, and our own or a reference",
        remedy="score with `--transcriber pinned`, or give `--reference FILE`",
    )


def _turns(table: pl.DataFrame) -> pl.DataFrame:
    """Return a transcript's turns; of the agent what was heard counts, where that was told."""
    text = pl.when(pl.col("speaker") == "agent").then(pl.coalesce("heard_text", "text"))
    return table.sort("call_id", "position").select(
        "call_id",
        "speaker",
        text=text.otherwise(pl.col("text")),
        language=pl.lit(None, dtype=pl.String),
    )


def _reference(path: str | Path) -> pl.DataFrame:
    rows = read_keyed_rows(path, required=("call_id", "speaker", "text"))
    name = Path(path).name
    for place, row in rows:
        if row["speaker"] not in _SPEAKERS:
            refuse_row(name, place, f"has the speaker {row['speaker']!r}", "caller or agent")
        language = row.get("language")
        if not isinstance(row["text"], str) or not isinstance(language, str | None):
            refuse_row(name, place, "has a text or language that is none", "text")
    kept = [{key: row.get(key) or None for key in TURNS} for _, row in rows]
    return pl.DataFrame(kept, schema=TURNS, orient="row")


def _names(path: str | Path) -> list[str]:
    return [line.strip() for line in read_lines(path).splitlines() if line.strip()]


def _negations(path: str | Path) -> Mapping[str, list[str]]:
    name = Path(path).name
    value = strict_json(read_lines(path).encode(), file=name)
    is_right = isinstance(value, dict) and all(
        isinstance(words, list) and all(isinstance(word, str) for word in words)
        for words in value.values()
    )
    if not is_right:
        refuse_row(name, "", "is no object of lists of words", '{"de": ["nimmer"]}')
    return {code.lower(): words for code, words in value.items()}
