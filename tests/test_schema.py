"""The door: examples pass, hostile values do not, and the same thing is said every time."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core import schema, shipped
from inquesto_core.errors import SchemaError

CALL = {
    "schema_version": "1",
    "call_id": "0412",
    "agent": {"name": "Billing agent"},
    "audio": [{"file": "audio.flac"}],
}


def shipped_schema(name):
    return json.loads((shipped.schemas_folder() / f"{name}.schema.json").read_bytes())


def problem(value, name="call"):
    with pytest.raises(SchemaError, match="schema") as caught:
        schema.validate(value, name, file=f"{name}.json")
    return caught.value.problem


@pytest.mark.parametrize("name", schema.SCHEMA_NAMES)
def test_the_shipped_example_of_each_schema_is_valid(name):
    data = (shipped.schemas_folder() / "examples" / f"{name}.json").read_bytes()
    assert schema.load(data, name) == json.loads(data)


def test_every_schema_file_has_a_name_and_an_example():
    folder = shipped.schemas_folder()
    assert {file.name for file in folder.glob("*.schema.json")} == {
        f"{name}.schema.json" for name in schema.SCHEMA_NAMES
    }
    assert {file.stem for file in (folder / "examples").iterdir()} == set(schema.SCHEMA_NAMES)


@pytest.mark.parametrize("name", ["call", "trace", "transcript", "state", "verdicts", "population"])
def test_an_unknown_top_level_key_of_a_bundle_file_is_an_error(name):
    value = json.loads((shipped.schemas_folder() / "examples" / f"{name}.json").read_bytes())
    found = problem({**value, "odd": 1}, name)
    assert found.found == 'has the unknown key "odd"'
    assert found.expected.startswith("only ")


def test_the_shipped_protocol_and_population_are_valid(project):
    protocol = project / "protocols" / "inquesto-0.1"
    schema.load((protocol / "protocol.json").read_bytes(), "protocol")
    populations = list((protocol / "populations").glob("*.json"))
    assert populations
    for file in populations:
        schema.load(file.read_bytes(), "population")


def test_every_published_record_is_valid(shared):
    records = [
        *(shared / "oracle" / "records").glob("*.json"),
        *(shared / "oracle" / "fuzz").glob("*/inquesto-record.json"),
    ]
    assert len(records) > 13
    for file in records:
        schema.load(file.read_bytes(), "record", file=file.name)


@pytest.mark.parametrize("name", ["judge_free", "accounting", "bounds", "timing_uncertainty"])
def test_a_field_of_our_own_in_the_record_is_an_object_or_null(name):
    record = json.loads((shipped.schemas_folder() / "examples" / "record.json").read_bytes())
    schema.validate({**record, name: {"anything": [1]}}, "record")
    schema.validate({**record, name: None}, "record")
    assert problem({**record, name: 3}, "record").expected == "an object or null"


@pytest.mark.parametrize(
    ("change", "pointer", "found", "expected"),
    [
        ({"call_id": ""}, "/call_id", 'is ""', "1 to 200 characters"),
        ({"call_id": "x" * 201}, "/call_id", "201 characters", "1 to 200 characters"),
        ({"call_id": "a\nb"}, "/call_id", r'is "a\nb"', "without control characters"),
        ({"call_id": "a\n"}, "/call_id", r'is "a\n"', "without control characters"),
        ({"call_id": "a\u2028"}, "/call_id", r'is "a\u2028"', "without control characters"),
        ({"call_id": 7}, "/call_id", "is 7", "text of 1 to 200"),
        ({"schema_version": "2"}, "/schema_version", 'is "2"', 'the text "1"'),
        ({"trial": -1}, "/trial", "is -1", "an integer from 0"),
        ({"trial": 1.5}, "/trial", "is 1.5", "an integer from 0"),
        ({"trial": True}, "/trial", "is true", "an integer from 0"),
        ({"agent": {}}, "/agent", 'has no "name"', "the keys name"),
        ({"agent": None}, "/agent", "is null", "an object"),
        ({"ended": {"by": "me"}}, "/ended/by", 'is "me"', '"caller"'),
        ({"tags": {"a/b~": 1}}, "/tags/a~1b~0", "is 1", "text"),
        ({"trace_offset_ms": 2**31}, "/trace_offset_ms", "is 2147483648", "2147483647"),
        ({"scored_window_ms": [0]}, "/scored_window_ms", "has 1 items", "[from, to)"),
        ({"ended_at": "2026-01-31T09:30:00"}, "/ended_at", 'is "2026', "with its zone"),
        ({"ended_at": "31.1.2026"}, "/ended_at", 'is "31.1.2026"', "ISO 8601"),
        ({"ended_at": 1767000000}, "/ended_at", "is 1767000000", "ISO 8601"),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_what_was_expected(
    change, pointer, found, expected
):
    said = problem({**CALL, **change})
    assert said.code == "schema"
    assert said.file == "call.json"
    assert said.pointer == pointer
    assert found in said.found
    assert expected in said.expected


@pytest.mark.parametrize("at_ms", [0, 1, 2**31 - 1], ids=str)
def test_a_time_within_its_limits_is_valid(at_ms):
    schema.validate({"calls": [{"name": "a", "start_ms": at_ms}]}, "trace")


@pytest.mark.parametrize("at_ms", [-1, 2**31, 0.5, "0"], ids=str)
def test_a_time_beyond_its_limits_is_refused(at_ms):
    said = problem({"calls": [{"name": "a", "start_ms": at_ms}]}, "trace")
    assert said.pointer == "/calls/0/start_ms"


@pytest.mark.parametrize(
    "name", ["audio.flac", "a/b/c.wav", "a..b.wav", "caller side.wav", "großvater.ogg", "c:x.wav"]
)
def test_a_relative_file_name_is_valid(name):
    schema.validate({**CALL, "audio": [{"file": name}]}, "call")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../x.wav",
        "a/../../x.wav",
        "a/..",
        "..",
        ".",
        "./x.wav",
        ".hidden",
        "a//b",
        "a/",
        "a\\b.wav",
        "..\\x.wav",
        "a\0b",
        "a.wav\n",
        "a\n/../b",
        "x" * 501,
    ],
    ids=ascii,
)
def test_a_file_name_that_could_lead_elsewhere_is_refused(name):
    assert problem({**CALL, "audio": [{"file": name}]}).pointer == "/audio/0/file"


@pytest.mark.parametrize("verdict", [True, False, None], ids=str)
def test_a_verdict_is_true_false_or_null(verdict):
    schema.validate({"model": "m", "answers": {"q": {"verdict": verdict}}}, "verdicts")


@pytest.mark.parametrize("verdict", ["true", "no", 0, 1, 0.5, {}, []], ids=str)
def test_any_other_verdict_is_refused(verdict):
    said = problem({"model": "m", "answers": {"q": {"verdict": verdict}}}, "verdicts")
    assert said.pointer == "/answers/q/verdict"


def test_nothing_but_the_minimum_is_needed():
    schema.validate(CALL, "call")
    for key in CALL:
        assert problem({k: v for k, v in CALL.items() if k != key}).found == f'has no "{key}"'


@pytest.mark.parametrize("key", ["population", "scenario_id", "condition", "group", "trial"])
def test_a_call_without_a_scenario_says_null(key):
    schema.validate({**CALL, key: None}, "call")


def test_a_long_or_hostile_value_is_cut_and_written_out():
    said = problem({**CALL, "agent": {"name": "\x1b]0;\u202e" + "y" * 5000}})
    assert len(said.found) < 130
    assert said.found.isprintable()


def test_of_alternatives_the_one_whose_kind_is_named_is_shown():
    people = json.loads((shipped.schemas_folder() / "examples" / "population.json").read_bytes())
    consent = {"id": "yes", "kind": "consent", "tool": "pay", "value": 5}
    gate = {"id": "gate", "kind": "verified"}
    checks = {"requests": ["pay"], "persona": "calm", "verification": [gate], "spoken": []}
    people["scenarios"][0]["checks"] = {**checks, "changes": [consent]}
    said = problem(people, "population")
    assert said.pointer.startswith("/scenarios/0/checks/changes/0")
    assert "tolerance" in f"{said.found} {said.expected}"


def test_of_alternatives_the_one_that_went_furthest_is_shown(monkeypatch):
    alternatives = {
        "anyOf": [{"type": "integer"}, {"properties": {"a": {"properties": {"b": {"const": 1}}}}}]
    }
    monkeypatch.setattr(schema, "_validator", lambda _: schema.closed_validator(alternatives))
    said = problem({"a": {"b": 2}})
    assert (said.pointer, said.found, said.expected) == ("/a/b", "is 2", "1")


@pytest.mark.parametrize(
    ("rule", "value", "found", "expected"),
    [
        ({"minProperties": 1}, {}, "has 0 keys", "at least 1 keys"),
        ({"maxItems": 1}, [1, 2], "has 2 items", "at most 1 items"),
        ({"type": ["number", "null"]}, "x", 'is "x"', "a number or null"),
        ({"enum": ["a", None]}, 3, "is 3", 'one of "a", null'),
        ({"additionalProperties": False}, {"b": 1, "a": 2}, 'has the unknown key "a"', "no key"),
        ({"uniqueItems": True}, [1, 1], "is a list of 2", "uniqueItems true"),
        (False, 1, "is 1", "nothing here"),
    ],
    ids=str,
)
def test_a_rule_without_a_description_is_said_in_plain_words(
    monkeypatch, rule, value, found, expected
):
    monkeypatch.setattr(schema, "_validator", lambda _: schema.closed_validator(rule))
    said = problem(value)
    assert (said.found, said.expected) == (found, expected)


def test_a_shape_is_described_and_not_printed():
    assert problem([]).found == "is a list of 0"
    assert problem({**CALL, "call_id": {"a": 1}}).found == "is an object with 1 key"


def test_the_error_shown_does_not_depend_on_the_order_of_keys():
    wrong = {**CALL, "trial": -1, "call_id": "", "odd": 1, "tags": {"x": 1}}
    backwards = dict(reversed(list(wrong.items())))
    assert problem(wrong) == problem(backwards)
    assert problem(wrong).pointer == ""


def test_of_several_errors_the_first_pointer_is_shown():
    assert problem({**CALL, "trial": -1, "call_id": ""}).pointer == "/call_id"


def test_validating_changes_nothing():
    value = copy.deepcopy(CALL)
    schema.validate(value, "call")
    assert value == CALL


def test_json_that_is_not_strict_is_refused_with_the_file():
    with pytest.raises(SchemaError, match=r"trace\.json .*NaN.*json_invalid"):
        schema.load(b'{"calls": [NaN]}', "trace", file="trace.json")


def test_an_unknown_schema_name_is_refused():
    with pytest.raises(SchemaError, match=r"schema_unknown"):
        schema.validate({}, "nothing")


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/s.json",
        "file:///etc/passwd",
        "other.json",
        "#/$defs/absent",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_a_reference_to_anything_foreign_is_an_error(reference):
    with pytest.raises(SchemaError, match=r"schema_foreign_ref"):
        schema.closed_validator({"properties": {"a": {"$ref": reference}}})


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/a", "https://inquesto-core.invalid/schemas/call.schema.json#/$defs/time_ms"],
)
def test_a_reference_inside_the_file_or_the_schemas_is_followed(reference):
    validator = schema.closed_validator(
        {"$defs": {"a": {"type": "integer"}}, "properties": {"x": {"$ref": reference}}}
    )
    assert validator.is_valid({"x": 1})
    assert not validator.is_valid({"x": "1"})


@pytest.mark.parametrize(
    "broken",
    [{"type": "text"}, {"minimum": "0"}, {"pattern": "("}, {"patternProperties": {"[": {}}}],
)
def test_a_schema_that_is_none_is_an_error(broken):
    with pytest.raises(SchemaError, match=r"schema_invalid"):
        schema.closed_validator(broken)


def test_the_end_of_a_pattern_is_the_end_of_the_text():
    validator = schema.closed_validator({"pattern": "^a$"})
    assert validator.is_valid("a")
    assert not validator.is_valid("a\n")
    assert schema.closed_validator({"pattern": r"a\$"}).is_valid("a$b")


def all_patterns():
    return sorted(
        {p for name in schema.SCHEMA_NAMES for p in schema.patterns(shipped_schema(name))}
    )


@pytest.mark.parametrize("pattern", all_patterns())
def test_every_pattern_is_anchored_and_nests_no_unbounded_repeat(pattern):
    assert pattern.startswith("^")
    assert pattern.endswith("$")

    def check(node, inside):
        if isinstance(node, tuple) and len(node) == 2 and isinstance(node[0], type(sre.LITERAL)):
            operator, argument = node
            if operator in {sre.MAX_REPEAT, sre.MIN_REPEAT}:
                unbounded = argument[1] is sre.MAXREPEAT
                assert not (inside and unbounded), pattern
                inside = inside or unbounded
            check(argument, inside)
        elif isinstance(node, tuple | list | sre_parser.SubPattern):
            for inner in node:
                check(inner, inside)

    check(sre_parser.parse(pattern), False)


@pytest.mark.parametrize("unit", ["a", "/", "a/", "0", "2026-01-01T", ".", "\n", "\\", "é", "a/.b"])
def test_every_pattern_is_quick_on_long_hostile_text(unit):
    text = unit * (200_000 // len(unit))
    validators = [
        schema.closed_validator({"pattern": pattern}, is_ours=True) for pattern in all_patterns()
    ]
    start = time.perf_counter()
    for validator in validators:
        validator.is_valid(text)
        validator.is_valid(text + "\0")
    assert time.perf_counter() - start < 2


def test_a_reference_in_our_schemas_stands_alone():
    def check(node):
        if isinstance(node, dict):
            assert "$ref" not in node or list(node) == ["$ref"]
        if isinstance(node, dict | list):
            for inner in node.values() if isinstance(node, dict) else node:
                check(inner)

    for name in schema.SCHEMA_NAMES:
        check(shipped_schema(name))


def test_no_schema_relies_on_format():
    def check(node):
        if isinstance(node, dict):
            assert not isinstance(node.get("format"), str)  # an object is a property of that name
        if isinstance(node, dict | list):
            for inner in node.values() if isinstance(node, dict) else node:
                check(inner)

    for name in schema.SCHEMA_NAMES:
        check(shipped_schema(name))


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*CALL, "tags", "odd", "ended"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_json_value_is_either_valid_or_one_schema_error(value):
    for name in schema.SCHEMA_NAMES:
        try:
            schema.validate(value, name)
        except SchemaError as exc:
            assert exc.problem.expected
            assert str(exc).isprintable()


def test_importing_the_door_loads_no_heavy_package():
    code = (
        "import sys, inquesto_core, inquesto_core.schema\n"
        "heavy = {'jsonschema', 'referencing', 'polars', 'numpy', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=shipped.schemas_folder().parent,
    )
    assert done.returncode == 0, done.stderr
