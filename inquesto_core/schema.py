"""JSON Schema at the door: a value from outside is what its schema says, or one `SchemaError`.

The schemas are the files ``schemas/<name>.schema.json`` (Draft 2020-12). A ``$ref`` leads to one of
them or nowhere: nothing is ever retrieved. Of several errors the one that is shown is always the
same: nearest to the top of the value, then first by pointer, keyword and message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from inquesto_core import shipped
from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem, SchemaError
from inquesto_core.patterns import PatternRefused, Searching, compile_pattern, compile_python

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator
    from referencing import Registry

__all__ = ["SCHEMA_NAMES", "closed_validator", "load", "validate"]

SCHEMA_NAMES = (
    "call",
    "checks_protocol",
    "checks_record",
    "envelope",
    "extraction_contract",
    "gates",
    "import_mapping",
    "manifest",
    "measured",
    "population",
    "protocol",
    "record",
    "regression",
    "review_key",
    "scenario_rules",
    "sheet_key",
    "signals_protocol",
    "signals_record",
    "state",
    "statement",
    "timing",
    "trace",
    "transcript",
    "verdicts",
)

#: Longer values are cut in messages.
SHOWN_CHARACTERS = 60

#: Where references between our schemas are resolved from; `.invalid` can never be a host.
BASE_URI = "https://inquesto-core.invalid/schemas/"


def load(data: bytes, schema_name: str, *, file: str | None = None) -> Any:
    """Return the JSON value in `data`, strictly read and valid under the schema `schema_name`.

    Raises
    ------
    SchemaError
        Code ``json_invalid`` (see `strict_json`) or ``schema`` (see `validate`).
    """
    value = strict_json(data, file=file)
    validate(value, schema_name, file=file)
    return value


def validate(value: Any, schema_name: str, *, file: str | None = None) -> None:
    """Accept `value` silently if it is what the schema `schema_name` says.

    Raises
    ------
    SchemaError
        Code ``schema``, with the JSON pointer, what was found and what was expected;
        ``schema_unknown`` for a name that is not in `SCHEMA_NAMES`.

    Examples
    --------
    >>> validate({"calls": [{"name": "lookup_account", "start_ms": 1200}]}, "trace")
    >>> validate({"calls": [{"name": "lookup_account", "start_ms": -20}]}, "trace")
    Traceback (most recent call last):
    inquesto_core.errors.SchemaError: /calls/0/start_ms is -20; expected an integer from 0 to \
2147483647 (ms from the start of the recording) or null [schema]
    """
    worst = min(_leaves(_validator(schema_name).iter_errors(value)), key=_order, default=None)
    if worst is not None:
        found, expected = _found(worst), _expected(worst)
        raise SchemaError(
            Problem(
                code="schema",
                found=found,
                expected=expected,
                file=file,
                pointer=_pointer(worst.absolute_path),
            )
        )


def closed_validator(schema: Any, *, file: str | None = None, is_ours: bool = False) -> Validator:
    """Return a validator of `schema` whose references reach inside it and our schemas only.

    Parameters
    ----------
    schema : object or bool
        A Draft 2020-12 schema, ours or a population's (conditions on tool arguments).
    is_ours : bool
        Its patterns are those that this package ships: Python's own reader takes them.

    Raises
    ------
    SchemaError
        Code ``schema_invalid``: it is no schema, or a pattern is no regular expression;
        ``schema_foreign_ref``: a reference leads elsewhere.
    """
    from jsonschema.exceptions import SchemaError as NotASchema
    from referencing.exceptions import Unresolvable

    kind = _validator_class(compile_python if is_ours else compile_pattern)
    try:
        kind.check_schema(schema)
        if not is_ours:
            for pattern in patterns(schema):
                compile_pattern(pattern)
            _refuse_hidden_patterns(schema)
    except (NotASchema, PatternRefused) as exc:
        raise SchemaError(
            Problem(
                code="schema_invalid",
                found=f"is not a JSON Schema: {_shortened(str(exc).splitlines()[0])}",
                expected="a JSON Schema of Draft 2020-12",
                file=file,
            )
        ) from exc
    registry = _registry()
    resolver = registry.resolver_with_root(_resource(schema))
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable as exc:
            raise SchemaError(
                Problem(
                    code="schema_foreign_ref",
                    found=f"refers to {_shown(reference)}",
                    expected="references inside the file or to the shipped schemas",
                    remedy="copy the referred schema into $defs",
                    file=file,
                )
            ) from exc
    validator: Validator = kind(schema, registry=registry)
    return validator


def patterns(schema: Any) -> Iterator[str]:
    """Yield every regular expression that `schema` tests text against."""
    for node in _nodes(schema):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]


@cache
def _validator(schema_name: str) -> Validator:
    if schema_name not in SCHEMA_NAMES:
        raise SchemaError(
            Problem(
                code="schema_unknown",
                found=f"there is no schema {_shown(schema_name)}",
                expected="one of " + ", ".join(SCHEMA_NAMES),
            )
        )
    file = f"{schema_name}.schema.json"
    checked = closed_validator(_shipped_schemas()[BASE_URI + file], file=file, is_ours=True)
    resolver = _registry().resolver_with_root(_resource(checked.schema))
    # Following references at every value takes most of the time on a transcript with words.
    inlined: Validator = _validator_class(compile_python)(_inlined(checked.schema, resolver))
    return inlined


def _inlined(schema: Any, resolver: Any) -> Any:
    """Return one of our schemas with its references replaced; none of them leads in a circle."""
    if isinstance(schema, list):
        return [_inlined(inner, resolver) for inner in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        target = resolver.lookup(schema["$ref"])
        return _inlined(target.contents, target.resolver)
    return {key: _inlined(inner, resolver) for key, inner in schema.items()}


@cache
def _shipped_schemas() -> Mapping[str, Any]:
    folder = shipped.schemas_folder()
    schemas = {}
    for name in SCHEMA_NAMES:
        file = f"{name}.schema.json"
        schemas[BASE_URI + file] = strict_json((folder / file).read_bytes(), file=file)
    return schemas


@cache
def _registry() -> Registry[Any]:
    from referencing import Registry

    empty: Registry[Any] = Registry()
    return empty.with_resources(
        (uri, _resource(schema)) for uri, schema in _shipped_schemas().items()
    ).crawl()


def _resource(schema: Any) -> Any:
    from referencing.jsonschema import DRAFT202012

    return DRAFT202012.create_resource(schema)


@cache
def _validator_class(compile_: Callable[[str], Searching]) -> Any:
    from jsonschema import Draft202012Validator, ValidationError, validators

    def check_pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not compile_(pattern).search(instance):
            yield ValidationError(f"does not match {pattern}")

    extend: Any = validators.extend

    def check_names(
        validator: Any, members: Mapping[str, Any], instance: Any, _: Any
    ) -> Iterator[ValidationError]:
        if isinstance(instance, dict):
            for pattern, inner in members.items():
                for name in filter(compile_(pattern).search, instance):
                    yield from validator.descend(
                        instance[name], inner, path=name, schema_path=pattern
                    )

    def check_others(
        validator: Any, others: Any, instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        kinds = [compile_(pattern) for pattern in schema.get("patternProperties", ())]
        if not kinds or not isinstance(instance, dict):
            yield from on_others(validator, others, instance, schema)
            return
        known = schema.get("properties", {})
        for name in instance:
            if name not in known and not any(kind.search(name) for kind in kinds):
                yield from validator.descend(instance[name], others, path=name)

    on_others = Draft202012Validator.VALIDATORS["additionalProperties"]
    return extend(
        Draft202012Validator,
        {
            "pattern": check_pattern,
            "patternProperties": check_names,
            "additionalProperties": check_others,
        },
    )


def _refuse_hidden_patterns(schema: Any) -> None:
    """Refuse a pattern with a choice where the validator's own code would search with it."""
    nodes = list(_nodes(schema))
    if not any("unevaluatedProperties" in node for node in nodes):
        return
    for node in nodes:
        for pattern in node.get("patternProperties") or ():
            if not isinstance(compile_pattern(pattern), re.Pattern):
                raise PatternRefused("a pattern with a choice beside unevaluatedProperties")


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for inner in schema.values() if isinstance(schema, dict) else schema:
            yield from _nodes(inner)


def _references(schema: Any) -> Iterator[str]:
    for node in _nodes(schema):
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(node.get(keyword), str):
                yield node[keyword]


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Yield of each error the deepest cause: of alternatives, the one that went furthest."""
    for error in errors:
        leaf = error
        while leaf.context:
            leaf = max(
                sorted(_alternatives(leaf), key=_order), key=lambda each: len(each.absolute_path)
            )
        yield leaf


def _alternatives(error: ValidationError) -> list[ValidationError]:
    """Return the errors of the alternatives that are meant: those whose constants are there."""
    branches: dict[Any, list[ValidationError]] = {}
    for each in error.context or ():
        branches.setdefault(each.relative_schema_path[0], []).append(each)
    meant = [errors for errors in branches.values() if not any(map(_is_another, errors))]
    return [each for errors in meant or branches.values() for each in errors]


def _is_another(error: ValidationError) -> bool:
    """Return whether a key says that another alternative is meant, as ``kind`` does."""
    return error.validator == "const" and len(error.relative_path) == 1


def _order(error: ValidationError) -> tuple[int, str, str, str]:
    path = error.absolute_path
    return len(path), _pointer(path), str(error.validator), error.message


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _found(error: Any) -> str:
    value = error.instance
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in value]
        return "has no " + ", ".join(_shown(key) for key in missing)
    if error.validator == "additionalProperties":
        return f"has the unknown key {_shown(_unknown_keys(error)[0])}"
    if error.validator in {"minProperties", "maxProperties"}:
        return f"has {len(value)} keys"
    if error.validator in {"minItems", "maxItems"}:
        return f"has {len(value)} items"
    if error.validator == "maxLength":
        return f"is {_shown(value)} of {len(value)} characters"
    if isinstance(value, dict):
        return f"is an object with {len(value)} key{'' if len(value) == 1 else 's'}"
    if isinstance(value, list):
        return f"is a list of {len(value)}"
    return f"is {_shown(value)}"


def _expected(error: Any) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if error.validator is None:
        return "nothing here"
    if error.validator == "required":
        return "the keys " + ", ".join(sorted(error.validator_value))
    if error.validator == "additionalProperties":
        known = sorted(schema.get("properties", {}))
        return "only " + ", ".join(known) if known else "no key"
    if "description" in schema:
        return str(schema["description"])
    if error.validator == "type":
        kinds = error.validator_value
        names = [kinds] if isinstance(kinds, str) else kinds
        return " or ".join(_KINDS.get(name, name) for name in names)
    if error.validator == "enum":
        return "one of " + ", ".join(_shown(value) for value in error.validator_value)
    phrase = _LIMITS.get(str(error.validator), str(error.validator) + " {}")
    return phrase.format(_shown(error.validator_value))


_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}

_LIMITS = {
    "const": "{}",
    "maxItems": "at most {} items",
    "maxLength": "at most {} characters",
    "maxProperties": "at most {} keys",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "minLength": "at least {} characters",
    "minProperties": "at least {} keys",
    "minimum": "at least {}",
    "pattern": "text that matches {}",
}


def _unknown_keys(error: Any) -> list[str]:
    known = error.schema.get("properties", {})
    return sorted(key for key in error.instance if key not in known)


def _shown(value: Any) -> str:
    """Return a value as JSON on one line, cut, with what a terminal could obey written out."""
    return _shortened(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))


def _shortened(text: str) -> str:
    printable = "".join(
        c if c.isprintable() else ascii(c)[1:-1] for c in text[: 2 * SHOWN_CHARACTERS]
    )
    if len(text) <= SHOWN_CHARACTERS and len(printable) <= 2 * SHOWN_CHARACTERS:
        return printable
    return printable[: SHOWN_CHARACTERS - 1] + "…"
