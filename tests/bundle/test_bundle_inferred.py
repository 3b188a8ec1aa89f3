from __future__ import annotations

import pytest

from inquesto_core.bundle import Inferred
from inquesto_core.bundle.inferred import InferredTally


def lines(*calls):
    tally = InferredTally()
    for call in calls:
        tally.add(Inferred(field=field, value=value, how=how) for field, value, how in call)
    return [kind.line() for kind in tally.kinds()]


CHANNEL = ("/audio/0/channels/caller", 0, "the recorder's order")


def test_what_was_inferred_in_the_same_way_is_one_line_with_its_value_and_count():
    assert lines([CHANNEL], [CHANNEL, ("/group", "us_female", "a tag")], [CHANNEL]) == [
        "inferred in 3 calls: /audio/0/channels/caller = 0: the recorder's order",
        'inferred in 1 call: /group = "us_female": a tag',
    ]


def test_another_way_to_the_same_field_is_a_line_of_its_own():
    said = (CHANNEL[0], 0, "said on the command line")
    assert [line.partition(": /")[0] for line in lines([CHANNEL], [said])] == [
        "inferred in 1 call",
        "inferred in 1 call",
    ]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (("a.wav", "a.wav"), '/f = "a.wav": how'),
        (("a.wav", "b.wav"), '/f = "a.wav", and others: how'),
        (("a.wav", "b.wav", "a.wav"), '/f = "a.wav", and others: how'),
        (([0, 11_000],), "/f = [0,11000]: how"),
        ((None,), "/f = null: how"),
        (("x" * 39,), f'/f = "{"x" * 39}…: how'),
    ],
    ids=["one", "two", "back again", "a list", "null", "long"],
)
def test_of_several_values_the_first_is_shown(values, shown):
    (line,) = lines(*[[("/f", value, "how")] for value in values])
    assert line.endswith(shown)
