"""Rows that a user gives: numbers as people write them, and faults with their line and column."""

from __future__ import annotations

from decimal import Decimal

import pytest

from inquesto_core.compare.extraction import Contract
from inquesto_core.engine.call_outcomes import told_costs
from inquesto_core.engine.compare_columns import read_columns
from inquesto_core.engine.extraction import _values
from inquesto_core.engine.keyed_rows import read_keyed_rows
from inquesto_core.errors import SchemaError, StoreError

NO_NUMBERS = ("1_000", "1e+308", "1e400", "1e3", "0x10", "nan", "inf", "1,5", "١", "", "--1", "1.")


@pytest.mark.parametrize("cost", NO_NUMBERS)
def test_a_cost_is_written_in_plain_digits(tmp_path, cost):
    file = tmp_path / "costs.csv"
    file.write_text(f'call_id,cost\nc1,0.21\nc2,"{cost}"\n', encoding="utf-8")
    with pytest.raises(SchemaError, match=r"costs\.csv line 3 has the cost .*\[rows_invalid\]"):
        told_costs(file, ())


@pytest.mark.parametrize(("cost", "told"), [("0.21", "0.21"), (" 5 ", "5"), ("1000000", "1000000")])
def test_a_plain_cost_is_read(tmp_path, cost, told):
    file = tmp_path / "costs.csv"
    file.write_text(f"call_id,cost\nc1,{cost}\n", encoding="utf-8")
    assert told_costs(file, ())["c1"][0] == Decimal(told)


def test_a_small_number_of_json_is_a_cost(tmp_path):
    file = tmp_path / "costs.jsonl"
    file.write_text('{"call_id": "c1", "cost": 1e-7}\n', encoding="utf-8")
    assert told_costs(file, ())["c1"][0] == Decimal("1e-7")


LAW = Contract.of(
    {"name": "x", "version": "1", "fields": {"amount": {"type": "number"}}, "missing_texts": []}
)


@pytest.mark.parametrize("cell", [each for each in NO_NUMBERS if each])
def test_an_extracted_cell_that_is_no_plain_number_is_a_text(tmp_path, cell):
    file = tmp_path / "extracted.csv"
    file.write_text(f'call_id,amount\nc1,"{cell}"\n', encoding="utf-8")
    assert _values(file, LAW)[0]["value"].to_list()[0].startswith('"')


@pytest.mark.parametrize("cell", ["49", "-0.5", "0", "1234.25"])
def test_an_extracted_plain_number_is_one(tmp_path, cell):
    file = tmp_path / "extracted.csv"
    file.write_text(f"call_id,amount\nc1,{cell}\n", encoding="utf-8")
    assert _values(file, LAW)[0]["value"].to_list() == [cell]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            '{"call_id": NaN}',
            "line 2 column 13 has the token NaN; expected a finite number or null",
        ),
        ('{"call_id": "c", "call_id": 1}', "line 2 column 18 .* twice; expected every key once"),
        ("[1]", "line 2 is no object; expected one JSON object a line"),
    ],
)
def test_what_was_expected_of_a_line_answers_its_fault(tmp_path, line, told):
    file = tmp_path / "rows.jsonl"
    file.write_text(f'{{"call_id": "c0"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(SchemaError, match=told):
        read_keyed_rows(file, required=("call_id",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("call_id,a\nc1,1\nc2,1,2\n", "columns.csv line 3 has 3 cells; expected 2"),
        ('call_id,a\nc1,"x\n', "columns.csv line 2"),
        ("", "columns.csv holds no row"),
        ("call_id," + "a" * 200_000 + "\nc1,2\n", "columns.csv line 1 is no CSV: field larger"),
    ],
    ids=["cells", "quote", "empty", "long"],
)
def test_a_table_of_columns_that_cannot_be_read_is_refused_at_its_line(tmp_path, text, told):
    file = tmp_path / "columns.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=rf"{told}.*\[columns_invalid\]"):
        read_columns(file)


def test_a_key_file_is_refused_at_its_line_and_not_shown(tmp_path):
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    from inquesto_core.attest import make_keys, read_public

    _, public = make_keys(tmp_path / "a.key")
    lines = public.read_text().splitlines()
    for at, place in ((0, 1), (1, 2), (2, 3)):
        changed = [*lines[:at], "!secret!", *lines[at + 1 :]]
        public.write_text("\n".join(changed))
        with pytest.raises(StoreError, match=rf"a\.key\.pub line {place} is n") as refused:
            read_public(public)
        assert "secret" not in str(refused.value)
