"""A problem is one line that a person can read, whatever it quotes."""

from __future__ import annotations

import pytest

from inquesto_core.errors import Problem


@pytest.mark.parametrize(("length", "is_whole"), [(700, True), (701, False)])
def test_of_what_somebody_wrote_at_length_the_middle_is_left_out(length, is_whole):
    text = "a" * (length - 4) + " end"
    line = str(Problem(code="c", found=text, expected=text, file="f"))
    assert (text in line) == is_whole
    assert line.endswith(" end [c]")
    assert len(line) < 2 * 710 + 30
    assert (" … " in line) != is_whole
