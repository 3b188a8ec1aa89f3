"""The bill of materials is CycloneDX, names what is installed, and is the same each time."""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def written(project, tmp_path_factory):
    folders = [tmp_path_factory.mktemp("sbom") / name for name in ("one", "two")]
    for folder in folders:
        command = [sys.executable, "-I", str(project / "bin" / "sbom.py"), str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    return folders


def test_both_files_are_the_same_bytes_each_time(written):
    one, two = written
    for name in ("sbom.cdx.json", "licences.csv"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_what_is_installed_is_named_with_its_version_and_licence(written):
    lines = (written[0] / "licences.csv").read_text(encoding="utf-8").splitlines()
    rows = {row["name"]: row for row in csv.DictReader(lines)}
    bill = json.loads((written[0] / "sbom.cdx.json").read_bytes())
    components = {each["name"]: each for each in bill["components"]}
    for name in ("polars", "onnxruntime", "silero-vad", "jsonschema"):
        version = importlib.metadata.version(name)
        assert rows[name]["version"] == components[name]["version"] == version
    assert rows["polars"]["licence"]
    assert bill["metadata"]["component"]["name"] == "inquesto-core"
    assert str(Path(sys.prefix)) not in (written[0] / "sbom.cdx.json").read_text()


def test_every_dependency_that_is_named_is_a_component(written):
    bill = json.loads((written[0] / "sbom.cdx.json").read_bytes())
    refs = {each["bom-ref"] for each in bill["components"]}
    root = bill["metadata"]["component"]["bom-ref"]
    assert {each["ref"] for each in bill["dependencies"]} == refs | {root}
    assert all(set(each["dependsOn"]) <= refs for each in bill["dependencies"])


def test_the_bill_is_valid_under_the_schema_of_cyclonedx(written):
    spec = importlib.util.find_spec("cyclonedx")
    if spec is None or spec.origin is None:
        pytest.skip("cyclonedx-python-lib, which brings the schema, is not installed")
    from jsonschema import Draft7Validator
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    folder = Path(spec.origin).parent / "schema" / "_res"
    schema = json.loads((folder / "bom-1.6.SNAPSHOT.schema.json").read_bytes())
    beside = {
        name: Resource.from_contents(
            json.loads((folder / name).read_bytes()), default_specification=DRAFT7
        )
        for name in ("spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json")
    }
    registry = Registry().with_resources(
        list(beside.items())
        + [(f"http://cyclonedx.org/schema/{name}", each) for name, each in beside.items()]
    )
    bill = json.loads((written[0] / "sbom.cdx.json").read_bytes())
    errors = list(Draft7Validator(schema, registry=registry).iter_errors(bill))
    assert errors == []
