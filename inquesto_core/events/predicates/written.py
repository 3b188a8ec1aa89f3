"""What a population's JMESPath, JSON Schema and pointers say that nothing would ever read.

A misspelt keyword is no error to a JSON Schema, nor an unknown function to a JMESPath that is not
evaluated: a predicate would hold, or fail, for every call alike.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jmespath
import jmespath.exceptions
import jmespath.functions

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["path_faults", "pointer_faults", "schema_faults", "tolerance_faults"]

#: JSON pointer below the predicate's key, what was found, what was expected.
Fault = tuple[str, str, str]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Keywords whose value is a schema, a list of schemas, or schemas by name.
_ONE = frozenset(
    {
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
#: Keywords that a validator passes over, or that only references need.
_NOT_FOLLOWED = frozenset(
    {
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "format",
    }
)
_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_BY_NAME = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
_OTHERS = frozenset(
    {
        "$comment",
        "$id",
        "$schema",
        "const",
        "default",
        "dependentRequired",
        "deprecated",
        "description",
        "enum",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "readOnly",
        "required",
        "title",
        "type",
        "uniqueItems",
        "writeOnly",
    }
)
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_BAD_ESCAPE = re.compile(r"~(?![01])")


def path_faults(path: str) -> Iterator[Fault]:
    """Yield what makes a JMESPath none, or one that could never be evaluated."""
    try:
        tree = jmespath.compile(path).parsed
    except jmespath.exceptions.JMESPathError as exc:
        yield "", f"has no JMESPath: {str(exc).splitlines()[0]}", "a JMESPath expression"
        return
    for name, given in _functions(tree):
        known = jmespath.functions.Functions.FUNCTION_TABLE.get(name)
        if known is None:
            yield "", f"calls {name}(), which JMESPath does not have", "one of its functions"
            continue
        signature = known["signature"]
        is_open = bool(signature) and signature[-1].get("variadic", False)
        if given < len(signature) or (given > len(signature) and not is_open):
            expected = f"{'at least ' if is_open else ''}{len(signature)}"
            yield "", f"calls {name}() with {given} arguments", expected


def _functions(node: Any) -> Iterator[tuple[str, int]]:
    if isinstance(node, dict):
        if node.get("type") == "function_expression":
            yield str(node["value"]), len(node["children"])
        for inner in node.get("children", ()):
            yield from _functions(inner)


def schema_faults(schema: Any, pointer: str = "") -> Iterator[Fault]:
    """Yield the keywords of a JSON Schema that are none, or that are not followed."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in _REFERENCES:
            yield pointer, "has a schema with a reference", f"a schema without {key}"
        elif key == "$schema" and value != _DIALECT:
            yield f"{pointer}/$schema", f"is {str(value)[:80]!r}", _DIALECT
        elif key in _NOT_FOLLOWED:
            found = f"has the keyword {key}, which is not followed here"
            yield f"{pointer}/{key}", found, "a schema without it"
        elif key in _ONE:
            yield from schema_faults(value, f"{pointer}/{key}")
        elif key in _LIST and isinstance(value, list):
            for at, inner in enumerate(value):
                yield from schema_faults(inner, f"{pointer}/{key}/{at}")
        elif key in _BY_NAME and isinstance(value, dict):
            for name, inner in value.items():
                escaped = name.replace("~", "~0").replace("/", "~1")
                yield from schema_faults(inner, f"{pointer}/{key}/{escaped}")
        elif key not in _OTHERS and not key.startswith("x-"):
            yield (
                pointer,
                f"has the keyword {key[:80]!r}, which JSON Schema does not have",
                ("a keyword of JSON Schema 2020-12, or a name that begins with x-"),
            )


def pointer_faults(pointer: str) -> Iterator[Fault]:
    """Yield what makes a JSON pointer one that leads nowhere."""
    if _BAD_ESCAPE.search(pointer):
        yield "", f"is {pointer[:80]!r}", "a JSON pointer, in which ~ is written ~0 and / is ~1"


def tolerance_faults(equals: Any) -> Iterator[Fault]:
    """Yield that a value holds no number that could be near another."""
    if not _holds_number(equals):
        yield "", f"stands beside {type(equals).__name__} without a number", "a number in equals"


def _holds_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_number, value.values()))
    if isinstance(value, list):
        return any(map(_holds_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)
