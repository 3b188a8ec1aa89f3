"""What a population writes and nothing would ever read is refused before any call is."""

from __future__ import annotations

import pytest
from predicate_calls import people

from inquesto_core.errors import ProtocolError
from inquesto_core.events.predicates import check_predicates


def asked(schema):
    return {"kind": "tool_arguments", "tool": "refund", "schema": schema}


def equal(path="a", **more):
    return {"kind": "state_equals", "path": path, "equals": 1, **more}


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        (equal("nosuch(a)"), r"/path calls nosuch\(\), which JMESPath does not have"),
        (equal("a[?starts_with(b)]"), r"/path calls starts_with\(\) with 1 arguments; expected 2"),
        (equal("sum(a, b)"), r"/path calls sum\(\) with 2 arguments; expected 1"),
        (equal("not_null()"), r"/path calls not_null\(\) with 0 arguments; expected at least 1"),
        (asked({"requird": ["a"]}), r"/schema has the keyword 'requird'"),
        (asked({"properties": {"a": {"typ": 1}}}), r"/schema/properties/a has the keyword 'typ'"),
        (asked({"anyOf": [{}, {"maxLenght": 3}]}), r"/schema/anyOf/1 has the keyword"),
        (asked({"format": "email"}), r"/schema/format has the keyword format, which is not follow"),
        (asked({"not": {"$anchor": "a"}}), r"/schema/not/\$anchor has the keyword \$anchor, which"),
        (asked({"$recursiveRef": "#"}), r"/schema has a schema with a reference"),
        (asked({"$schema": "http://json-schema.org/draft-04/schema#"}), r"/schema/\$schema is "),
        (equal(equals="text", tolerance=1), r"/tolerance stands beside str without a number"),
        ({"kind": "state_changes", "allowed": ["/a~2"]}, r"/allowed/0 is '/a~2'"),
        ({"kind": "state_hash", "sha256": "0" * 64, "exclude": ["/a~"]}, r"/exclude/0 is '/a~'"),
    ],
    ids=str,
)
def test_what_could_never_be_read_is_refused_with_its_place(predicate, said):
    with pytest.raises(ProtocolError, match=rf"/predicates/0{said}.*predicate_invalid"):
        check_predicates(people(predicate))


@pytest.mark.parametrize(
    "predicate",
    [
        equal("a[?contains(b, 'c')] | [0]"),
        equal("merge(a, b, c)"),
        equal(equals={"a": [1]}, tolerance=1),
        asked({"properties": {"$ref": {"type": "string"}, "format": {}}}),
        asked({"$schema": "https://json-schema.org/draft/2020-12/schema", "x-note": 1}),
        asked({"title": "t", "const": {"requird": 1}, "default": {"typ": 2}}),
        {"kind": "state_changes", "allowed": ["/a~1b/~0c", "/*"]},
    ],
    ids=str,
)
def test_what_can_be_read_is_taken(predicate):
    check_predicates(people(predicate))
