"""Each rule by which a prediction is held against a reference answer, on both sides."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.events.reference_match import MatchFlags, match_reference, without_side


def matches(reference, prediction, **flags):
    return match_reference(reference, prediction, MatchFlags(**flags))[0]


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        pytest.param([{"a": 1}, {"b": 2}], [{"b": 2}, {"a": 1}], True, id="another order"),
        pytest.param([{"a": 1}, {"b": 2}], [{"a": 1}], False, id="one is not there"),
        pytest.param([{"a": 1}], [{"a": 1, "c": 3}], True, id="a key more"),
        pytest.param([{"a": 1, "c": 3}], [{"a": 1}], False, id="a key less"),
        pytest.param([{"a": 1}], [{"a": 1}, {"z": 9}], True, id="an entry more"),
        pytest.param([{"a": [1, 2]}], [{"a": [3, 2, 1]}], True, id="a list inside, in any order"),
        pytest.param([{"a": [1, 1]}], [{"a": [1, 2]}], False, id="a list inside, each once"),
        pytest.param([{"a": {"b": 1}}], [{"a": {"b": 1, "c": 2}}], True, id="an object inside"),
        pytest.param([{"a": {"b": 1}}], [{"a": 1}], False, id="an object against a number"),
        pytest.param([{"a": 1}], [{"a": [1]}], False, id="a number against a list"),
        pytest.param([{"a": [1]}], [{"a": 1}], False, id="a list against a number"),
        pytest.param([], [{"a": 1}], True, id="nothing asked for"),
        pytest.param([{"a": 1}], [], False, id="nothing predicted"),
        pytest.param([{"a": 1}], {"a": 1}, True, id="one prediction that is no list"),
    ],
)
def test_a_reference_is_met_in_any_order_and_by_more_than_it_asks(reference, prediction, expected):
    assert matches(reference, prediction) is expected


@pytest.mark.parametrize(
    ("reference", "prediction"),
    [
        pytest.param([{"a": 1}], [{"a": 1, "c": 3}], id="a key more"),
        pytest.param([{"a": 1}], [{"a": 1}, {"z": 9}], id="an entry more"),
        pytest.param([{"a": [1]}], [{"a": [1, 2]}], id="an item of a list more"),
        pytest.param({"a": 1}, [{"a": 1, "c": 3}], id="a key more in the last"),
        pytest.param([{"a": {"b": 1}}], [{"a": {"b": 1, "c": 2}}], id="a key more inside"),
    ],
)
def test_what_is_tolerated_is_refused_where_extra_items_are_disallowed(reference, prediction):
    assert matches(reference, prediction)
    assert not matches(reference, prediction, disallow_extra_items=True)
    assert matches(reference, reference, disallow_extra_items=True)


def test_two_equal_references_need_two_predictions():
    assert not matches([{"a": 1}, {"a": 1}], [{"a": 1}])
    assert matches([{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 1}])


def test_a_prediction_is_given_to_the_reference_that_no_other_satisfies():
    loose, strict = {"a": 1}, {"a": 1, "b": 2}
    for references in itertools.permutations([loose, strict]):
        for predictions in itertools.permutations([{"a": 1}, {"a": 1, "b": 2}]):
            assert matches(list(references), list(predictions))


def test_a_single_reference_is_compared_with_the_last_prediction_only():
    assert matches({"a": 1}, [{"a": 2}, {"a": 1}])
    assert not matches({"a": 1}, [{"a": 1}, {"a": 2}])
    assert matches([{"a": 1}], [{"a": 1}, {"a": 2}])  # a list of one is no single reference
    assert not matches({"a": 1}, [])


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        pytest.param(1, 1.0, True, id="an integer and a float"),
        pytest.param(1, "1.0", True, id="a number and its text"),
        pytest.param("1", "1.00", True, id="two texts of one number"),
        pytest.param("1e2", 100, True, id="with an exponent"),
        pytest.param(100, 100.001, True, id="on the relative tolerance"),
        pytest.param(100, 100.0011, False, id="past the relative tolerance"),
        pytest.param(0, 1e-8, True, id="on the absolute tolerance"),
        pytest.param(0, 1.1e-8, False, id="past the absolute tolerance"),
        pytest.param("1", "one", False, id="a word is no number"),
        pytest.param("nan", "nan", True, id="nan is a word like any other"),
        pytest.param("1_0", 10, False, id="no number in anybody's writing"),
        pytest.param(True, 1, False, id="true is not 1"),
        pytest.param(True, True, True, id="true is true"),
        pytest.param(True, "true", False, id="true is no text"),
        pytest.param(None, None, True, id="null is null"),
        pytest.param(None, "", False, id="null is no empty text"),
    ],
)
def test_numbers_are_close_after_their_text_was_read(reference, prediction, expected):
    assert matches([{"n": reference}], [{"n": prediction}]) is expected


@pytest.mark.parametrize(
    ("flag", "reference", "prediction"),
    [
        pytest.param("ignore_capitalization", "Main St", "main st", id="capitals"),
        pytest.param("ignore_punctuation", "St. Mary's", "St Marys", id="punctuation"),
        pytest.param("clean_text", "  Main\tStreet ", "Main Street", id="white space"),
        pytest.param("clean_text", "ﬁne", "fine", id="compatible characters"),
    ],
)
def test_text_is_compared_as_its_flags_say(flag, reference, prediction):
    assert not matches([{"t": reference}], [{"t": prediction}])
    assert matches([{"t": reference}], [{"t": prediction}], **{flag: True})


def test_what_has_no_match_is_named():
    _, told = match_reference([{"a": 1}, {"b": 2}], [{"a": 1}], MatchFlags())
    assert told == "no match of its own among 1 prediction: /1"
    _, told = match_reference({"a": 1, "b": 2}, [{"a": 1, "b": 3}], MatchFlags())
    assert told == "the last of 1 predictions does not match: /b"


def test_actions_of_a_side_are_told_from_the_agents():
    mine, theirs = {"name": "a"}, {"name": "b", "side": "user"}
    assert without_side([mine, theirs], "user") == ([mine], (1,))
    assert without_side([theirs], "user") == (None, (0,))
    assert without_side([], "user") == ([], ())
    assert without_side(theirs, "user") == (None, (0,))
    assert without_side({**mine, "side": "agent"}, "user") == ({**mine, "side": "agent"}, ())


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
answers = st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), max_size=4)


@settings(max_examples=60)
@given(answers, st.randoms(use_true_random=False))
def test_a_reference_matches_itself_in_any_order_and_with_anything_beside_it(reference, chance):
    prediction = [*reference, {"other": 1}]
    chance.shuffle(prediction)
    assert matches(reference, prediction)


@settings(max_examples=60)
@given(answers, answers)
def test_more_predictions_never_turn_a_match_into_none(reference, prediction):
    if matches(reference, prediction):
        assert matches(reference, [{"more": 1}, *prediction])


def test_thousands_of_entries_need_no_deep_recursion():
    many = [{"a": 1} for _ in range(300)]
    assert matches(many, many)
    assert not matches([*many, {"a": 1}], many)
