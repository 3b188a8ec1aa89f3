from __future__ import annotations

import pytest

from inquesto_core.report.published import (
    agent_label,
    format_score_table,
    format_threshold_table,
    score_rows,
    threshold_rows,
)

#: Tables 2 and 3 as printed in the paper, in its order; the file that each row belongs to.
TABLE_2 = """
qwen7b-ep1100     | 45 [39, 50] 42 46 39 41 42 41 53 43 80/75/11 58 39
qwen7b-ep700      | 39 [34, 44] 46 36 44 32 41 32 37 45 104/78/16 56 51
llama8b-ep700     | 36 [31, 42] 46 36 39 27 42 33 27 41 122/18/54 58 68
qwen32b-ep700     | 33 [28, 39] 38 30 33 27 27 29 35 43 94/12/80 56 70
qwen14b-ep700     | 33 [28, 38] 38 32 39 29 35 29 31 36 103/22/89 54 64
us-anthropic-claude-haiku-4-5-20251001-v1-0-ep700 | 26 [21, 31] 17 27 22 24 24 25 28 27 263/7/0 66 122
gemini-gemini-2-5-flash-ep700 | 25 [20, 30] 25 26 22 21 22 21 25 31 187/14/8 53 87
qwen7b-ep400      | 24 [20, 29] 25 24 22 16 28 16 27 25 183/56/13 61 114
us-meta-llama3-1-8b-instruct-v1-0-ep700 | 20 [16, 25] 12 22 22 17 21 17 20 23 137/19/69 37 52
gpt-4-1-mini-ep700 | 19 [15, 24] 21 18 44 13 21 13 23 19 257/12/55 50 95
us-anthropic-claude-sonnet-4-6-ep700 | 19 [15, 24] 25 18 28 12 21 12 25 17 265/3/0 65 140
qwen3b-ep700      | 14 [11, 18] 17 13 0 10 10 21 13 12 94/47/60 18 12
gpt-5-4-mini-ep700 | 6 [4, 10] 4 7 6 5 5 9 7 5 236/7/1 24 53
"""  # noqa: E501
TABLE_3 = """
44 45 58 58
34 39 56 56
18 36 58 60
27 33 56 57
22 33 54 55
3 26 66 67
0 25 53 54
8 24 61 61
8 20 38 38
0 19 51 52
0 19 65 65
10 14 18 19
0 6 24 24
"""


@pytest.fixture
def records(shared):
    from decision_cases import published_records

    return published_records(shared)


def test_every_cell_of_table_2_is_as_printed(records):
    rows = score_rows(records.values())
    printed = [line.split("|") for line in TABLE_2.strip().splitlines()]
    assert len(rows) == len(printed) == 13
    for row, (stem, cells) in zip(rows, printed, strict=True):
        assert row["Agent"] == agent_label(records[stem.strip()])
        assert " ".join(list(row.values())[1:]) == cells.strip()
    assert list(rows[0]) == [
        "Agent",
        "IS",
        "95% CI",
        *"BRIF",
        "us_female",
        "us_male",
        "uk_female",
        "uk_male",
        "S3/4/5",
        "tx-only",
        "audio-only",
    ]


def test_every_cell_of_table_3_is_as_printed(records):
    rows = threshold_rows(records.values())
    assert [" ".join(list(row.values())[1:]) for row in rows] == TABLE_3.strip().splitlines()
    assert list(rows[0]) == ["Agent", "S2+", "S3+", "S4+", "S5+"]


def test_the_order_of_the_records_given_matters_only_among_equals(records):
    turned = list(reversed(records.values()))
    scores = [row["IS"] for row in score_rows(turned)]
    assert scores == [row["IS"] for row in score_rows(records.values())]


def test_the_tables_are_aligned_lines(records):
    lines = format_score_table(records.values()).splitlines()
    assert len(lines) == 14
    assert len({len(line) for line in lines}) == 1
    assert "/ 1100 ms" in lines[1]
    assert format_threshold_table(records.values()).splitlines()[0].split() == [
        "Agent",
        "S2+",
        "S3+",
        "S4+",
        "S5+",
    ]


def test_no_record_is_no_line():
    assert format_score_table([]) == ""
    assert format_threshold_table([]) == ""


def test_a_record_without_a_score_comes_last_with_dashes(records):
    some = next(iter(records.values()))
    views = {name: {**view, "score": None} for name, view in some["views"].items()}
    views["fairness"]["by_group"] = {}
    nothing = {**some, "score": None, "ci95": None, "n": 0, "passed": 0, "views": views}
    nothing["config"] = {}
    row = score_rows([nothing, some])[-1]
    assert row["Agent"] == "BillingAgent"
    assert (row["IS"], row["95% CI"], row["B"], row["us_male"]) == ("–", "–", "–", "–")


def test_a_label_cannot_move_the_terminals_cursor():
    record = {"agent": "A", "config": {"model": "x\x1b[2Ky\u202e"}}
    assert agent_label(record) == "x?[2Ky?"
