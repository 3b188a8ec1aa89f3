"""A leaderboard printed and written: the paper's cells in every form, outside text harmless."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from decimal import Decimal

import pytest

from inquesto_core.compare.leaderboard import Entry, build_leaderboard
from inquesto_core.report.leaderboard_files import board_csv, board_figure, board_markdown
from inquesto_core.report.leaderboard_text import board_document, board_lines, board_tables
from inquesto_core.report.published import score_rows, threshold_rows
from inquesto_core.score.completion import CostOfPass

HOSTILE = '=cmd|"<script>\u202e\x1b[31m](x)'


@pytest.fixture
def records(shared):
    from decision_cases import published_records

    return published_records(shared)


@pytest.fixture
def board(records):
    return build_leaderboard([Entry(source=name, record=each) for name, each in records.items()])


def test_both_tables_of_the_paper_are_there_cell_by_cell(board):
    """`test_report_published` holds the printed cells; the table adds columns and changes none."""
    for (header, rows), cells in zip(
        board_tables(board), (score_rows(board.records), threshold_rows(board.records)), strict=True
    ):
        held = [dict(zip(header, row, strict=True)) for row in rows]
        assert [
            {name: row[name] for name in own} for row, own in zip(held, cells, strict=True)
        ] == cells
    added = set(board_tables(board)[0][0]) - set(score_rows(board.records)[0])
    assert added == {"overlap", "n"}


def test_the_terminal_shows_every_figure_in_80_columns(board):
    lines = board_lines(board)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for figure in ("(33 %)", "24.3 points higher", "12.8 points lower", "15.3 points below"):
        assert figure in text


def test_markdown_and_csv_hold_a_row_a_record(board):
    lines = [line for line in board_markdown(board).splitlines() if line.startswith("|")]
    assert len(lines) == 2 * (13 + 2)
    rows = list(csv.DictReader(io.StringIO(board_csv(board))))
    assert [float(row["score"]) for row in rows] == [each["score"] for each in board.records]
    assert rows[0]["low"] == "39.3"


def make_board(records, **given):
    some = dict(next(iter(records.values())))
    one = {**some, "agent": HOSTILE, "config": {}, "citation": "x [judge: <b>] = 1"}
    one["diagnostics"] = {"latency_ms": {"p50": 800}}
    return build_leaderboard(
        [Entry(source=HOSTILE, record=one, **given), Entry(source="b", record=some)]
    )


def test_what_came_from_outside_is_harmless_everywhere(records):
    board = make_board(records)
    for text in ("\n".join(board_lines(board)), board_markdown(board), board_csv(board)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in board_markdown(board)
    assert "<script>" not in board_figure(board)
    cells = [row["agent"] for row in csv.DictReader(io.StringIO(board_csv(board)))]
    assert any(cell.startswith("'=") for cell in cells)
    assert "[judge: <b>]" in "\n".join(board_lines(board))


def test_the_cost_of_a_call_and_of_a_passed_call_stand_in_the_table(records):
    cost = CostOfPass(currency="USD", n_told=306, n_not_told=0, passed=137, total=Decimal("30.60"))
    board = make_board(records, costs=(cost,))
    (header, rows), _ = board_tables(board)
    held = dict(zip(header, rows[0], strict=True))
    assert (held["cost/call"], held["cost/pass"]) == ("0.1000 USD", "0.2234 USD")
    assert dict(zip(header, rows[1], strict=True))["cost/pass"] == "–"
    document = board_document(board)
    assert document["rows"][0]["costs"][0]["per_passed_call"] == "0.223358"


def test_the_figure_is_svg_with_a_circle_an_agent_and_names_those_it_cannot_place(records):
    cost = CostOfPass(currency="USD", n_told=306, n_not_told=0, passed=137, total=Decimal("30.60"))
    root = ET.fromstring(board_figure(make_board(records, costs=(cost,))))
    circles = [each for each in root.iter() if each.tag.endswith("circle")]
    assert len(circles) == 1
    assert circles[0].get("r") == "22.0"
    told = "".join(root.itertext())
    assert "0.2234 USD a passed call" in told
    assert "No latency told: BillingAgent" in told


def test_a_figure_of_no_latency_at_all_is_still_one(board):
    root = ET.fromstring(board_figure(board))
    assert not [each for each in root.iter() if each.tag.endswith("circle")]


def test_agents_of_several_names_are_called_by_them(records):
    labels = [row[0] for row in board_tables(make_board(records))[0][1]]
    assert any(label.startswith("BillingAgent · ") for label in labels)
