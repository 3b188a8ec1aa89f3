"""An extraction contract, what a system extracted, what people reviewed, and the run they cite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.canonical import canonical_bytes
from inquesto_core.compare.extraction import (
    FIELD_VALUES,
    SUPPORTS,
    Contract,
    Extraction,
    extraction_outcomes,
    field_table,
    is_value,
    support_states,
)
from inquesto_core.engine.keyed_rows import read_keyed_rows, read_lines, refuse_row
from inquesto_core.engine.stored import load_run

if TYPE_CHECKING:
    from inquesto_core.compare.extraction import FieldRule

__all__ = ["extraction"]

_KEYS = ("turn", "quote", "start_ms", "end_ms")
_NOT_FIELDS = frozenset({"call_id", "fields", "support"})

Rows = list[tuple[str, dict[str, Any]]]


def extraction(
    contract: str | Path,
    *,
    extracted: str | Path,
    reviewed: str | Path,
    run: str | Path | None = None,
) -> Extraction:
    """Return what a system extracted beside what people reviewed.

    Parameters
    ----------
    contract : path
        A file of schema ``extraction_contract``.
    extracted, reviewed : path
        JSON Lines, ``{"call_id": ..., "fields": {...}, "support": {field: {turn, quote, start_ms,
        end_ms}}}`` or the fields beside ``call_id``; or CSV, a column a field, whose cells are read
        as their field's type.
    run : path, optional
        The run whose transcripts the support cites.

    Raises
    ------
    SchemaError
        ``schema`` for the contract, ``rows_invalid`` for the others; a reviewed value that its own
        contract does not allow is one.
    """
    file = Path(contract)
    law = Contract.of(schema.load(read_lines(file).encode(), "extraction_contract", file=file.name))
    given, cited, unknown = _values(extracted, law)
    wanted, _, _ = _values(reviewed, law)
    _check_review(wanted, law, Path(reviewed).name)
    outcomes = extraction_outcomes(given, wanted, law)
    ids, known = set(given["call_id"]), set(wanted["call_id"])
    if run is None:
        supports = cited.with_columns(support=pl.lit(None, dtype=pl.String))
    else:
        tables = load_run(run, tables=("calls", "transcript")).tables
        supports = support_states(cited, tables["transcript"], tables["calls"])
    return Extraction(
        contract=law,
        outcomes=outcomes,
        fields=field_table(outcomes),
        supports=supports,
        n_reviewed=len(known),
        n_extracted=len(ids),
        n_not_reviewed=len(ids - known),
        unknown_fields=unknown,
    )


def _values(path: str | Path, law: Contract) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    """Return a file's fields, what they cite, and the keys that are none of the contract's.

    A row with no field at all still says that there is an extraction: its fields are missing.
    """
    name = Path(path).name
    is_csv = name.lower().endswith(".csv")
    rules = {rule.name: rule for rule in law.fields}
    values: list[tuple[str, str, str | None]] = []
    cited: list[dict[str, Any]] = []
    unknown: set[str] = set()
    lines: dict[str, str] = {}
    for place, row in read_keyed_rows(path, required=("call_id",)):
        call_id = row["call_id"]
        if call_id in lines:
            refuse_row(
                name, place, f"is {call_id!r} again", f"each call once; see {lines[call_id]}"
            )
        lines[call_id] = place
        fields = row.get("fields", row)
        if not isinstance(fields, dict):
            refuse_row(name, place, "has fields that are no object", "field: value")
        unknown |= fields.keys() - rules.keys() - _NOT_FIELDS
        for field, rule in rules.items():
            if field in fields:
                raw = fields[field]
                value = _typed(raw, rule, law) if is_csv else canonical_bytes(raw).decode()
                values.append((call_id, field, value))
        if not rules.keys() & fields.keys():
            values.append((call_id, law.fields[0].name, None))
        cited += _cited(row.get("support") or {}, call_id, rules, name, place)
    return (
        pl.DataFrame(values, schema=FIELD_VALUES, orient="row"),
        pl.DataFrame(cited, schema=SUPPORTS, orient="row"),
        tuple(sorted(unknown)),
    )


def _typed(cell: str, rule: FieldRule, law: Contract) -> str:
    """Return a cell as canonical JSON of its field's type, as text where it is none."""
    text = canonical_bytes(cell).decode()
    if not cell:
        return "null"
    if text in law.missing or rule.type in {"string", "date"}:
        return text
    if rule.type == "array":
        return canonical_bytes([part.strip() for part in cell.split(";") if part.strip()]).decode()
    if rule.type == "boolean":
        return cell.strip().lower() if cell.strip().lower() in {"true", "false"} else text
    return cell.strip() if _NUMBER.fullmatch(cell.strip()) else text


#: A number as JSON and people write it; no exponent, which nobody puts into a sheet.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,20})?")


def _cited(
    support: Any, call_id: str, rules: dict[str, FieldRule], file: str, place: str
) -> list[dict[str, Any]]:
    if not isinstance(support, dict):
        refuse_row(file, place, "has a support that is no object", "field: {turn, quote}")
    out = []
    for field, cites in support.items():
        if field not in rules:
            refuse_row(file, place, f"supports {field!r}", "a field of the contract")
        right = isinstance(cites, dict) and not cites.keys() - set(_KEYS)
        if not right or not all(_is_citation(key, cites.get(key)) for key in _KEYS):
            refuse_row(
                file,
                place,
                f"has a support of {field!r} that is none",
                "turn, quote, start_ms, end_ms",
            )
        out.append({"call_id": call_id, "field": field, **{key: cites.get(key) for key in _KEYS}})
    return out


def _is_citation(key: str, value: Any) -> bool:
    if value is None:
        return True
    if key == "quote":
        return isinstance(value, str)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _check_review(wanted: pl.DataFrame, law: Contract, file: str) -> None:
    """Refuse a reviewed value that the contract does not allow: one of both is wrong."""
    for rule in law.fields:
        own = wanted.filter(
            (pl.col("field") == rule.name)
            & pl.col("value").is_not_null()
            & ~pl.col("value").is_in(sorted(law.missing))
        )
        bad = own.filter(~is_value(pl.col("value"), rule))
        if not bad.is_empty():
            row = bad.row(0, named=True)
            refuse_row(
                file,
                f"call {row['call_id']}",
                f"has the reviewed {rule.name} {row['value'][:60]}",
                f"{rule.type}{' of the allowed values' if rule.allowed else ''}",
            )
