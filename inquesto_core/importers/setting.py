"""What a user said on the command line, as `ImportOptions`: files read and checked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inquesto_core import schema
from inquesto_core.canonical import strict_json, strict_toml
from inquesto_core.importers.clock import milliseconds
from inquesto_core.importers.draft import ImportOptions
from inquesto_core.importers.exports import read_bytes
from inquesto_core.importers.fields import Node
from inquesto_core.importers.rules import scenario_rules
from inquesto_core.protocol import load_population

__all__ = ["import_options"]


def import_options(
    *,
    mapping: str | Path | None = None,
    rules: str | Path | None = None,
    population: str | Path | None = None,
    recordings: str | Path | None = None,
    recording_started: str | None = None,
    no_audio: bool = False,
    recorder: str | None = None,
    caller_channel: int | None = None,
    agent_channel: int | None = None,
    agent: str | None = None,
    skip_roles: tuple[str, ...] = (),
    scenario: str | None = None,
    condition: str | None = None,
    group: str | None = None,
) -> ImportOptions:
    """Return the options of an import, its mapping, rules and population read.

    Parameters
    ----------
    mapping, rules : path, optional
        JSON or TOML.
    population : path, optional
        A population file.
    recording_started : str, optional
        ISO 8601 with a zone.

    Raises
    ------
    SchemaError, BundleError, ProtocolError
        One of the files is not what it should be.
    """
    said = {"scenario_id": scenario, "condition": condition, "group": group}
    return ImportOptions(
        recordings=None if recordings is None else Path(recordings),
        no_audio=no_audio,
        recorder=recorder,
        caller_channel=caller_channel,
        agent_channel=agent_channel,
        agent=agent,
        skip_roles=frozenset(skip_roles),
        recording_started_ms=None
        if recording_started is None
        else milliseconds(Node(recording_started, "--recording-started"), "iso"),
        population=None if population is None else load_population(population),
        population_file=None
        if population is None or not Path(population).is_file()
        else Path(population),
        rules=() if rules is None else scenario_rules(_read(Path(rules)), file=Path(rules).name),
        scenario={name: value for name, value in said.items() if value is not None},
        mapping=None if mapping is None else _mapping(Path(mapping)),
    )


def _mapping(path: Path) -> Any:
    value = _read(path)
    schema.validate(value, "import_mapping", file=path.name)
    return value


def _read(path: Path) -> Any:
    data = read_bytes(path, path.name)
    if path.suffix.lower() != ".toml":
        return strict_json(data, file=path.name)
    return strict_toml(data, file=path.name, code="mapping_invalid")
