"""What must hold of predicates whatever the call: found by hypothesis, on small calls."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from predicate_calls import one_call, tool, turn, values

EXAMPLES = 25

TOOLS = ("lookup", "verify", "refund")
SAID = ("Shall I refund the charge?", "Yes, go ahead.", "No.", "It is $49.", "Hm.")

tool_calls = st.lists(
    st.builds(
        lambda name, at, amount, done, status: tool(
            name, at, None if at is None else at + 100, arguments={"n": amount}, result=done,
            status=status,
        ),
        st.sampled_from(TOOLS),
        st.one_of(st.none(), st.integers(0, 30_000)),
        st.sampled_from([1, 2]),
        st.sampled_from([None, {"ok": True}, {"ok": False}]),
        st.sampled_from(["ok", "ok", "error"]),
    ),
    max_size=5,
)  # fmt: skip
turns = st.lists(
    st.builds(
        lambda speaker, words, at: turn(speaker, words, at, None if at is None else at + 900),
        st.sampled_from(["agent", "caller"]),
        st.one_of(st.none(), st.sampled_from(SAID)),
        st.one_of(st.none(), st.integers(0, 30_000)),
    ),
    max_size=5,
)
states = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            name: st.fixed_dictionaries({"n": st.sampled_from([1, 2])})
            for name in ("before", "after", "expected")
        },
    ),
)
calls = st.fixed_dictionaries(
    {
        "tools": st.one_of(st.none(), tool_calls),
        "said": st.one_of(st.none(), turns),
        "state": states,
        "answers": st.dictionaries(st.just("told"), st.sampled_from([True, False, None])),
        "timed": st.booleans(),
    }
)
leaves = st.sampled_from(
    [
        {"kind": "tool_called", "tool": "refund"},
        {"kind": "tool_not_called", "tool": "refund"},
        {"kind": "tool_count", "tool": "lookup", "min": 1, "max": 2},
        {"kind": "tool_order", "before": "verify", "after": "refund"},
        {"kind": "tool_arguments", "tool": "refund", "schema": {"properties": {"n": {"const": 1}}}},
        {"kind": "tool_results", "tool": "verify", "schema": {"required": ["ok"]}},
        {"kind": "exactly_once", "tool": "refund"},
        {"kind": "exactly_once", "tool": "refund", "key": "length(n)"},
        {"kind": "speech_after_tool", "tool": "lookup", "within_ms": 100},
        {"kind": "tool_after_speech", "tool": "refund", "speaker": "caller", "says": ["yes"],
         "within_ms": 5000},
        {"kind": "state_equals", "path": "n", "equals": 1},
        {"kind": "state_equals", "path": "length(n)", "equals": 1},
        {"kind": "state_unchanged"},
        {"kind": "state_changes", "allowed": ["/n"]},
        {"kind": "state_hash", "against": "expected"},
        {"kind": "claim", "question": "told"},
        {"kind": "spoken", "amount": {"value": 49}},
        {"kind": "consent", "tool": "refund", "names": ["refund"]},
    ]
)  # fmt: skip
predicates = st.one_of(
    leaves,
    st.builds(lambda inner: {"kind": "not", "of": inner}, leaves),
    st.builds(
        lambda kind, of: {"kind": kind, "of": of},
        st.sampled_from(["all", "any"]),
        st.lists(leaves, min_size=1, max_size=3),
    ),
)
several = st.lists(predicates, min_size=1, max_size=4)


def told(rows, *asked):
    return values(rows, *asked)["value"].to_list()


def conjunction(found):
    return False if False in found else None if None in found else True


@settings(max_examples=EXAMPLES)
@given(call=calls, asked=several, at=st.integers(0, 5))
def test_an_unrelated_tool_call_never_turns_a_failed_goal_into_a_met_one(call, asked, at):
    before = conjunction(told([one_call(**call)], *asked))
    unrelated = tool("read_the_weather", 500, 600, arguments={"n": 1}, result={"ok": True})
    tools = list(call["tools"] or [])
    tools.insert(min(at, len(tools)), unrelated)
    after = conjunction(told([one_call(**{**call, "tools": tools})], *asked))
    if call["tools"] is not None:
        assert after is before
    assert not (before is False and after is True)


@settings(max_examples=EXAMPLES)
@given(call=calls, asked=predicates, beside=predicates)
def test_undetermined_never_becomes_true_beside_what_is_true(call, asked, beside):
    one, other, together = told(
        [one_call(**call)], asked, beside, {"kind": "all", "of": [asked, beside]}
    )
    if one is None or other is None:
        assert together is not True
    assert together is True if one is True and other is True else together is not True


@settings(max_examples=EXAMPLES)
@given(found=st.lists(calls, min_size=1, max_size=5), asked=several, seed=st.randoms())
def test_many_calls_are_evaluated_as_each_is_alone_in_any_order(found, asked, seed):
    rows = [one_call(f"c{at}", **call) for at, call in enumerate(found)]
    together = values(rows, *asked)
    seed.shuffle(rows)
    assert values(rows, *asked).equals(together)
    alone = [row for call in found for row in told([one_call("c0", **call)], *asked)]
    assert together["value"].to_list() == alone


@settings(max_examples=EXAMPLES)
@given(call=calls, asked=several, seed=st.randoms())
def test_the_order_of_tool_calls_that_do_not_depend_on_each_other_changes_nothing(
    call, asked, seed
):
    tools = list(call["tools"] or ())
    lookups = [row for row in tools if row["name"] == "lookup"]
    others = [row for row in tools if row["name"] != "lookup"]
    before = told([one_call(**{**call, "tools": [*lookups, *others]})], *asked)
    seed.shuffle(lookups)
    at = seed.randint(0, len(others))
    mixed = [*others[:at], *lookups, *others[at:]]
    assert told([one_call(**{**call, "tools": mixed})], *asked) == before
