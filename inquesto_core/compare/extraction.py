"""A system's extracted fields beside a reviewed record: right, wrong, missing and invalid apart.

A contract (``schemas/extraction_contract.schema.json``) says what each field is. Every field of
every reviewed call has one outcome:

``right``          the reviewed value, or missing in both
``wrong``          a valid value that is not the reviewed one, were there none to find
``missing``        a reviewed value that the system did not give
``invalid``        not of the field's type, or not an allowed value: *"false"* is no boolean
``no_extraction``  the system gave nothing at all for the call

There is no single success rate: a system that is often silent and one that is often wrong would
have the same. What counts as missing is told by the contract (``missing_value``,
``missing_texts``), an absent key is missing too; a text such as *INFO_NA* is never a value because
it is not empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FIELD_VALUES",
    "OUTCOMES",
    "OUTCOME_ROWS",
    "SUPPORTS",
    "Contract",
    "Extraction",
    "FieldRule",
    "extraction_outcomes",
    "field_table",
    "is_value",
    "support_states",
]

OUTCOMES = ("right", "wrong", "missing", "invalid", "no_extraction")

#: One row a field of a call: its value as canonical JSON, null = the key is absent.
FIELD_VALUES: dict[str, Any] = {"call_id": pl.String, "field": pl.String, "value": pl.String}

OUTCOME_ROWS: dict[str, Any] = {
    "call_id": pl.String,
    "field": pl.String,
    "outcome": pl.String,
    "extracted": pl.String,  # canonical JSON, null = missing
    "reviewed": pl.String,
}

#: Where a field says that it was found.
SUPPORTS: dict[str, Any] = {
    "call_id": pl.String,
    "field": pl.String,
    "turn": pl.Int64,
    "quote": pl.String,
    "start_ms": pl.Int64,
    "end_ms": pl.Int64,
}

_NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """What one field is.

    Parameters
    ----------
    type : str
        string | boolean | integer | number | date | array (of texts).
    allowed : tuple of str or None
        The values of a text, or of each text of an array.
    tolerance : float
        How far a number may be off, inclusive.
    by_words : bool
        Whether two texts are one where they say the same words.
    ordered : bool
        Whether order and repetition in an array matter.
    critical : bool
    """

    name: str
    type: str
    allowed: tuple[str, ...] | None = None
    tolerance: float = 0.0
    by_words: bool = False
    ordered: bool = False
    critical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The fields that a system is to extract, and what says that one is not there.

    Parameters
    ----------
    missing : frozenset of str
        Canonical JSON of the values that mean *missing*; null is always one.
    """

    name: str
    version: str
    fields: tuple[FieldRule, ...]
    missing: frozenset[str]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Contract:
        """Return the contract of a valid document."""
        fields = tuple(
            FieldRule(
                name=name,
                type=rule["type"],
                allowed=tuple(rule["allowed"]) if "allowed" in rule else None,
                tolerance=float(rule.get("tolerance", 0)),
                by_words=rule.get("compare") == "words",
                ordered=bool(rule.get("ordered", False)),
                critical=bool(rule.get("critical", False)),
            )
            for name, rule in document["fields"].items()
        )
        texts = [document.get("missing_value"), *document.get("missing_texts", ())]
        missing = frozenset(canonical_bytes(text).decode() for text in texts) | {_NULL}
        return cls(
            name=document["name"], version=document["version"], fields=fields, missing=missing
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What became of every reviewed field.

    Parameters
    ----------
    outcomes, fields : polars.DataFrame
        As `extraction_outcomes` and `field_table` give them.
    supports : polars.DataFrame
        As `support_states` gives them; without a run ``support`` is null.
    n_reviewed, n_extracted, n_not_reviewed : int
        Calls reviewed, calls extracted, and of these those that nobody reviewed.
    unknown_fields : tuple of str
        Keys of the extraction that the contract does not have.
    """

    contract: Contract
    outcomes: pl.DataFrame
    fields: pl.DataFrame
    supports: pl.DataFrame
    n_reviewed: int
    n_extracted: int
    n_not_reviewed: int
    unknown_fields: tuple[str, ...]


def extraction_outcomes(
    extracted: pl.DataFrame, reviewed: pl.DataFrame, contract: Contract
) -> pl.DataFrame:
    """Return an outcome for every field that was reviewed, of all calls at once.

    Parameters
    ----------
    extracted, reviewed : polars.DataFrame
        Columns `FIELD_VALUES`. A field of a reviewed call that has no row was not reviewed and has
        no outcome. A call that `extracted` has no row of has no extraction.

    Returns
    -------
    polars.DataFrame
        Columns `OUTCOME_ROWS`, sorted by call and field.
    """
    given = extracted.select("call_id").unique()
    parts = [
        _field_outcomes(extracted, reviewed, given, rule, contract) for rule in contract.fields
    ]
    return pl.concat(parts).select(OUTCOME_ROWS.keys()).sort("call_id", "field")


def _field_outcomes(
    extracted: pl.DataFrame,
    reviewed: pl.DataFrame,
    given: pl.DataFrame,
    rule: FieldRule,
    contract: Contract,
) -> pl.DataFrame:
    own = pl.col("field") == rule.name
    both = (
        reviewed.filter(own)
        .rename({"value": "reviewed"})
        .join(extracted.filter(own).select("call_id", extracted="value"), on="call_id", how="left")
        .join(given.with_columns(has_extraction=True), on="call_id", how="left")
        .with_columns(
            _without_missing("extracted", contract), _without_missing("reviewed", contract)
        )
    )
    valid = is_value(pl.col("extracted"), rule)
    outcome = (
        pl.when(pl.col("has_extraction").is_null())
        .then(pl.lit("no_extraction"))
        .when(pl.col("extracted").is_null())
        .then(
            pl.when(pl.col("reviewed").is_null()).then(pl.lit("right")).otherwise(pl.lit("missing"))
        )
        .when(~valid)
        .then(pl.lit("invalid"))
        .when(_same(both, rule))
        .then(pl.lit("right"))
        .otherwise(pl.lit("wrong"))
    )
    return both.with_columns(outcome=outcome)


def _without_missing(column: str, contract: Contract) -> pl.Expr:
    missing = pl.col(column).is_in(sorted(contract.missing))
    return pl.when(~missing).then(pl.col(column)).alias(column)


def is_value(value: pl.Expr, rule: FieldRule) -> pl.Expr:
    """Return whether canonical JSON is a value that a field may have: its type, its values."""
    if rule.type == "boolean":
        return value.is_in(["true", "false"])
    if rule.type == "integer":
        return value.str.contains(r"^-?[0-9]+$")
    if rule.type == "number":
        return value.str.contains(r"^-?[0-9][0-9.eE+-]*$")
    if rule.type == "date":
        shape = value.str.contains(r'^"[0-9]{4}-[0-9]{2}-[0-9]{2}"$')
        return (
            shape & value.str.strip_chars('"').str.to_date("%Y-%m-%d", strict=False).is_not_null()
        )
    if rule.type == "string":
        if rule.allowed is None:
            return value.str.starts_with('"')
        return value.is_in([canonical_bytes(text).decode() for text in rule.allowed])
    return value.map_elements(lambda text: _is_array(text, rule), return_dtype=pl.Boolean)


def _is_array(text: str, rule: FieldRule) -> bool:
    value = json.loads(text)
    return isinstance(value, list) and all(
        isinstance(item, str) and (rule.allowed is None or item in rule.allowed) for item in value
    )


def _same(both: pl.DataFrame, rule: FieldRule) -> pl.Series:
    """Return whether both values of a row are one value; it counts where both are valid."""
    first, second = both["extracted"], both["reviewed"]
    if rule.type in {"integer", "number"}:
        off = first.cast(pl.Float64, strict=False) - second.cast(pl.Float64, strict=False)
        return (off.abs() <= rule.tolerance + _rounding(second)).fill_null(value=False)
    if rule.type == "array" or rule.by_words:
        form = _words_form if rule.by_words else _ordered_form if rule.ordered else _set_form
        first, second = (
            side.map_elements(form, return_dtype=pl.String, skip_nulls=True)
            for side in (first, second)
        )
    return (first == second).fill_null(value=False)


def _rounding(value: pl.Series) -> pl.Series:
    """Return what a decimal may be off in binary, so that a limit is inclusive as written."""
    return value.cast(pl.Float64, strict=False).abs() * 1e-12


def _words_form(text: str) -> str:
    return " ".join(spoken_words(str(json.loads(text))))


def _ordered_form(text: str) -> str:
    return text


def _set_form(text: str) -> str:
    value = json.loads(text)
    return json.dumps(sorted(set(map(str, value)))) if isinstance(value, list) else text


def field_table(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of each outcome a field, never one rate over them.

    Returns
    -------
    polars.DataFrame
        ``field``, ``n`` and a column an outcome; ``right_missing`` of the right ones were missing
        in both, ``wrong_invented`` of the wrong ones are values where the reviewer found none.
    """
    none = pl.col("reviewed").is_null()
    return (
        outcomes.group_by("field")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            *((pl.col("outcome") == name).sum().cast(pl.Int64).alias(name) for name in OUTCOMES),
            ((pl.col("outcome") == "right") & none).sum().cast(pl.Int64).alias("right_missing"),
            ((pl.col("outcome") == "wrong") & none).sum().cast(pl.Int64).alias("wrong_invented"),
        )
        .sort("field")
    )


def support_states(
    supports: pl.DataFrame, transcript: pl.DataFrame, calls: pl.DataFrame
) -> pl.DataFrame:
    """Return whether the place that each field cites is there.

    Parameters
    ----------
    supports : polars.DataFrame
        Columns `SUPPORTS`.
    transcript, calls : evidence tables

    Returns
    -------
    polars.DataFrame
        `SUPPORTS` and ``support``: ``found``; ``turn_unknown``, ``quote_not_found`` (in its turn,
        or in any where it names none), ``span_outside`` the call; ``call_unknown``;
        ``no_transcript``; ``nothing_cited``. A quote is found by the words it says.
    """
    said = transcript.select(
        "call_id",
        turn="position",
        words=pl.col("text").fill_null("").map_elements(_spoken, return_dtype=pl.String),
        # A quote of what was really played counts as one of what was written.
        heard=pl.col("heard_text").fill_null("").map_elements(_spoken, return_dtype=pl.String),
    )
    by_call = said.group_by("call_id").agg(
        everything=(pl.col("words") + "|" + pl.col("heard")).sort_by("turn").str.join("|")
    )
    quote = pl.col("quote").map_elements(_spoken, return_dtype=pl.String)
    joined = (
        supports.with_columns(quoted=quote)
        .join(
            calls.select("call_id", "duration_ms", known=pl.lit(value=True)),
            on="call_id",
            how="left",
        )
        .join(said, on=["call_id", "turn"], how="left")
        .join(by_call, on="call_id", how="left")
    )
    there = (
        pl.when(pl.col("turn").is_null())
        .then(pl.col("everything"))
        .otherwise(pl.col("words") + "|" + pl.col("heard"))
    )
    cites_text = pl.col("turn").is_not_null() | pl.col("quote").is_not_null()
    cites_span = pl.col("start_ms").is_not_null() | pl.col("end_ms").is_not_null()
    low, high = pl.col("start_ms").fill_null(0), pl.coalesce("end_ms", "start_ms")
    outside = (low < 0) | (high < low) | (high > pl.col("duration_ms")).fill_null(value=False)
    state = (
        pl.when(pl.col("known").is_null())
        .then(pl.lit("call_unknown"))
        .when(~cites_text & ~cites_span)
        .then(pl.lit("nothing_cited"))
        .when(cites_text & pl.col("everything").is_null())
        .then(pl.lit("no_transcript"))
        .when(pl.col("turn").is_not_null() & pl.col("words").is_null())
        .then(pl.lit("turn_unknown"))
        .when(pl.col("quote").is_not_null() & ~there.str.contains(pl.col("quoted"), literal=True))
        .then(pl.lit("quote_not_found"))
        .when(cites_span & outside)
        .then(pl.lit("span_outside"))
        .otherwise(pl.lit("found"))
    )
    return joined.with_columns(support=state).select(*SUPPORTS, "support")


def _spoken(text: str) -> str:
    """Return the words of a text between spaces, so that a part of a word is not found."""
    return f" {' '.join(spoken_words(text))} "
