from __future__ import annotations

import itertools

import pytest
from decide_loop import GOOD, Case, decide_all, scenario, small_population
from predicate_calls import PROTOCOL, as_tables, one_call, outcome, people, tool, turn, values

from inquesto_core.engine.judging import asked_calls
from inquesto_core.errors import ProtocolError
from inquesto_core.events.needs import columns_needed
from inquesto_core.events.predicates import check_predicates, scenario_predicates

#: A claim for each truth value.
CLAIMS = {value: {"kind": "claim", "question": f"is_{value}"} for value in (True, False, None)}
ANSWERS = {"is_True": True, "is_False": False, "is_None": None}


def conjunction(*values):
    return False if False in values else None if None in values else True


def disjunction(*values):
    return True if True in values else None if None in values else False


@pytest.mark.parametrize("members", list(itertools.product((True, False, None), repeat=3)))
def test_groups_are_three_valued(members):
    of = [CLAIMS[each] for each in members]
    assert outcome({"kind": "all", "of": of}, answers=ANSWERS)[0] is conjunction(*members)
    assert outcome({"kind": "any", "of": of}, answers=ANSWERS)[0] is disjunction(*members)


@pytest.mark.parametrize(("value", "negated"), [(True, False), (False, True), (None, None)])
def test_not_turns_what_is_known_round(value, negated):
    assert outcome({"kind": "not", "of": CLAIMS[value]}, answers=ANSWERS)[0] is negated
    name = {"kind": "named", "name": "it"}
    named = {"it": CLAIMS[value]}
    assert outcome(name, named=named, answers=ANSWERS)[0] is value
    assert outcome({**name, "expect": False}, named=named, answers=ANSWERS)[0] is negated


def test_an_error_beside_what_is_true_fails_all_and_not_any():
    raising = {"kind": "state_equals", "path": "length(n)", "equals": 1}
    state = {"after": {"n": 1}}
    of = [raising, CLAIMS[True]]
    assert outcome({"kind": "all", "of": of}, answers=ANSWERS, state=state)[0] is False
    assert outcome({"kind": "any", "of": of}, answers=ANSWERS, state=state)[0] is True
    never = {"kind": "not", "of": {"kind": "all", "of": of}}
    assert outcome(never, answers=ANSWERS, state=state)[0] is False


def test_the_evidence_of_a_group_is_that_of_its_members():
    group = {"kind": "all", "of": [CLAIMS[True], {"kind": "tool_called", "tool": "a"}]}
    assert outcome(group, answers=ANSWERS)[1] == (
        "all: (true) is_True is answered true; (false) a performed 0 times"
    )


@pytest.mark.parametrize(
    ("answers", "value", "evidence"),
    [
        ({}, None, "told has no answer"),
        ({"told": None}, None, "told is answered undetermined"),
        ({"told": True}, True, "told is answered true"),
    ],
)
def test_a_claim_is_the_answer_to_its_question(answers, value, evidence):
    assert outcome({"kind": "claim", "question": "told"}, answers=answers) == (value, evidence)


TOLD = {"kind": "claim", "question": "told", "text": "Question: Was it told?"}
NEVER = {"kind": "tool_not_called", "tool": "refund"}


def decided(*predicates, answers, **more):
    population = small_population(scenario("own", predicates=predicates))
    case = Case(scenario_id="own", verdicts={**GOOD, **answers})
    return decide_all([case], protocol=PROTOCOL, population=population, **more).call()


@pytest.mark.parametrize(("answer", "goal"), [(True, True), (False, False), (None, None)])
def test_the_goal_needs_its_claims_and_the_judge_free_goal_does_not(answer, goal):
    row = decided(TOLD, NEVER, answers={"told": answer})
    assert row["goal"] is goal
    assert row["goal_judge_free"] is True
    assert row["judge_free_vacuous"] is False
    assert decided(TOLD, answers={"told": answer})["judge_free_vacuous"] is True


def test_a_claim_without_an_answer_is_open_only_where_a_judge_is_asked():
    row = decided({"kind": "all", "of": [TOLD, NEVER]}, answers={})
    assert row["state"] == "not_evaluated"
    assert row["reasons"] == ["predicate_undetermined:all"]
    row = decided(TOLD, answers={}, judge_free=True)
    assert (row["state"], row["passed"]) == ("scored", True)


def test_a_judge_is_asked_the_claims_that_have_a_text():
    inner = {"kind": "not", "of": {"kind": "named", "name": "kind"}}
    named = {"kind": {**TOLD, "question": "was_kind"}}
    plain = {"kind": "claim", "question": "recorded"}
    of_the_protocol = {**TOLD, "question": "goal_achieved"}
    population = people(TOLD, inner, plain, of_the_protocol, named=named)
    (call,) = asked_calls(as_tables(one_call()), protocol=PROTOCOL, population=population)
    assert call.claims == (("told", TOLD["text"]), ("was_kind", TOLD["text"]))
    assert call.every_question == (*call.questions, "told", "was_kind")


@pytest.mark.parametrize(
    ("predicate", "pointer", "found"),
    [
        ({"kind": "named", "name": "x"}, "/name", "does not define"),
        ({"kind": "not", "of": {"kind": "named", "name": "x"}}, "/of/name", "does not define"),
        ({"kind": "any", "of": [NEVER, {"kind": "state_equals", "path": "[", "equals": 1}]},
         "/of/1/path", "no JMESPath"),
        ({"kind": "exactly_once", "tool": "a", "key": "a."}, "/key", "no JMESPath"),
        ({"kind": "tool_results", "tool": "a", "schema": {"type": 3}}, "/schema", "JSON Schema"),
        ({"kind": "tool_count", "tool": "a", "side": "user"}, "", "has none of them"),
        ({"kind": "state_hash", "exclude": []}, "", "has none of them"),
        ({"kind": "state_hash", "against": "before", "sha256": "0"}, "", "sha256 and against"),
        ({"kind": "spoken", "speaker": "caller"}, "", "has none of them"),
        ({"kind": "spoken", "digits": "1", "phrases": ["a"]}, "", "digits and phrases"),
        ({"kind": "spoken", "phrases": ["ok", "..."]}, "/phrases/1", "says no word"),
        ({"kind": "consent", "tool": "a", "names": [["ok", "!"]]}, "/names/0", "says no word"),
        ({"kind": "consent", "tool": "a", "names": ["b"], "language": "pt"}, "/language", "'pt'"),
        ({"kind": "spoken", "digits": "1", "unless_denied": True, "language": "pt"},
         "/language", "'pt'"),
        ({"kind": "speech_after_tool", "tool": "hang_up", "within_ms": 1}, "/tool", "ends or"),
        ({"kind": "speech_after_tool", "tool": "to_human", "within_ms": 1}, "/tool", "hands over"),
        ({"kind": "claim", "question": "told", "text": "another"}, "", "with another text"),
    ],
)  # fmt: skip
def test_a_predicate_that_cannot_be_evaluated_is_refused_at_its_pointer(predicate, pointer, found):
    population = people(TOLD, predicate, named={"y": NEVER})
    with pytest.raises(ProtocolError, match="predicate_invalid") as error:
        check_predicates(population)
    assert error.value.problem.pointer == "/scenarios/7/predicates/1" + pointer
    assert found in error.value.problem.found


def test_a_named_predicate_names_no_other():
    named = {"a/b": {"kind": "all", "of": [NEVER, {"kind": "named", "name": "c"}]}, "c": NEVER}
    with pytest.raises(ProtocolError, match="predicate_invalid") as error:
        check_predicates(people(named=named))
    assert error.value.problem.pointer == "/predicates/a~1b/of/1/name"


def test_only_the_columns_that_a_predicate_reads_are_needed():
    nothing = columns_needed(PROTOCOL, people())
    assert "arguments" not in nothing["tool_calls"]
    assert nothing["states"] == ("call_id",)
    said = {"kind": "named", "name": "said"}
    named = {"said": {"kind": "spoken", "digits": "1"}}
    needed = columns_needed(PROTOCOL, people({"kind": "not", "of": said}, named=named))
    assert {"text", "heard_text"} <= set(needed["transcript"])
    assert needed["tool_calls"] == nothing["tool_calls"]
    wanted = {"kind": "state_hash", "against": "expected"}
    assert "expected" in columns_needed(PROTOCOL, people(wanted))["states"]


def test_what_is_evaluated_needs_no_other_columns_than_those_needed():
    predicates = (
        {"kind": "exactly_once", "tool": "refund"},
        {"kind": "consent", "tool": "refund", "names": ["refund"]},
        {"kind": "state_changes", "allowed": []},
        {"kind": "tool_results", "tool": "refund", "schema": True},
        TOLD,
    )
    rows = one_call(
        tools=[tool("refund", 9000, 9001, result={})],
        said=[turn("agent", "A refund?", 0, 1), turn("caller", "Yes.", 2, 3)],
        state={"before": {}, "after": {}},
        answers={"told": True},
    )
    whole = as_tables(rows)
    columns = columns_needed(PROTOCOL, people(*predicates))
    needed = {name: table.select(columns.get(name, table.columns)) for name, table in whole.items()}
    of = {"protocol": PROTOCOL, "population": people(*predicates)}
    assert scenario_predicates(needed, **of).equals(scenario_predicates(whole, **of))
    assert values([rows], *predicates)["value"].all()
