from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.compare import parse_labels
from inquesto_core.errors import SchemaError

HEADER = "item,question,verdict,labeller,note"


def parse(*lines, header=HEADER, end="\n"):
    return parse_labels(end.join([header, *lines]).encode(), file="ann.csv")


def test_a_file_of_a_sheet_is_read():
    found = parse("0a,wrong_info,true,ann,", "0b,wrong_info,unsure,ann,hm", "0c,wrong_info,,,", "")
    assert (found.labeller, found.by_item, found.unlabelled) == ("ann", True, 1)
    assert [(each.line, each.name, each.verdict) for each in found.labels] == [
        (2, "0a", True),
        (3, "0b", None),
    ]
    assert found.labels[1].note == "hm"


def test_a_file_by_call_id_is_read_in_any_order_of_columns_and_case():
    found = parse(
        "ann,c1,goal_achieved,FALSE,x", header="labeller,call_id,question,verdict,note", end="\r\n"
    )
    assert not found.by_item
    assert (found.labels[0].name, found.labels[0].verdict) == ("c1", False)


def test_a_byte_order_mark_and_quoted_line_breaks_are_read():
    data = b"\xef\xbb\xbf" + f'{HEADER}\r\n0a,q,true,ann,"two\r\nlines"\r\n0b,q,true,ann,'.encode()
    found = parse_labels(data, file="ann.csv")
    assert [each.line for each in found.labels] == [2, 4]


def test_the_apostrophe_before_a_formula_is_taken_away_again():
    found = parse("'=c1,goal_achieved,true,ann,'+1", header=HEADER.replace("item", "call_id"))
    assert (found.labels[0].name, found.labels[0].note) == ("=c1", "+1")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["0a,wrong_info,maybe,ann,"], "line 2 has the verdict 'maybe'; expected true, false,"),
        (["0a,wrong_info,true,ann"], "line 2 has 4 cells; expected 5"),
        (["0a,q,true,ann,", "0a,q,false,ann,"], "line 3 labels '0a' 'q' again; .* in line 2"),
        (["0a,q,true,ann,", "0b,q,true,ben,"], "line 3 names another labeller"),
        (["0a,q,true,,"], "line 2 names no labeller"),
        ([",q,true,ann,"], "line 2 names no call"),
        (["0a,,true,ann,"], "line 2 names no call or no question"),
        (["0a,q,,,"], "line 1 holds no label"),
        ([], "line 1 holds no label"),
        (['0a,q,true,ann,"open'], "line 2 is no CSV"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(lines, said):
    with pytest.raises(SchemaError, match=r"^ann\.csv " + said + r".*\[labels_invalid\]$"):
        parse(*lines)


@pytest.mark.parametrize("header", ["item,question,verdict", "a,b,c,d,e", f"{HEADER},more"])
def test_other_columns_are_refused(header):
    with pytest.raises(SchemaError, match=r"line 1 has the columns"):
        parse("0a,q,true,ann,", header=header)


def test_text_that_is_not_utf8_is_said_with_its_line():
    with pytest.raises(SchemaError, match=r"line 2 is not UTF-8 \(byte 39\)"):
        parse_labels(HEADER.encode() + b"\n0a,\xff,true,ann,", file="ann.csv")


def test_an_error_is_one_printable_line():
    with pytest.raises(SchemaError, match="labels_invalid") as caught:
        parse('0a,q,"a\nb\x1b[2J' + "x" * 500 + '",ann,')
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250


@given(st.binary(max_size=200))
def test_any_bytes_are_labels_or_one_error(data):
    for start in (b"", f"{HEADER}\n".encode()):
        try:
            parse_labels(start + data, file="a.csv")
        except SchemaError as exc:
            assert exc.problem.code == "labels_invalid"
            assert str(exc).isprintable()
