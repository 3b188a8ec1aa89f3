"""What the environment of this interpreter holds: a CycloneDX bill of materials, a licence list.

Everything is read from the metadata of what is installed; nothing is asked over a network. Neither
file holds a date, a path or a random number, so that one environment gives the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import json
import platform
import re
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Package", "bill_of_materials", "installed", "licence_rows", "main"]

SPEC_VERSION = "1.6"
#: What the bill is of; a checkout is not installed itself.
PRODUCT = "inquesto-core"
NOT_SAID = "not stated"
#: A longer text is a licence itself and not its name.
LONGEST_NAME = 100
_LICENCE_FILE = re.compile(r"(^|/)(licen[cs]e|copying|notice|copyright)[^/]*$", re.IGNORECASE)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_BY_EXTRA = re.compile(r"\bextra\s*==")
_LICENCE_CLASS = "License :: "
#: What a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One installed distribution.

    Parameters
    ----------
    expression : str or None
        Its licence as an SPDX expression, where its maker gives one.
    licence : str
        What it says of its licence, in its own words.
    needs : tuple of str
        Names of what it requires without an extra, normalised, sorted.
    files : tuple of str
        Its licence files, as they lie in the environment.
    record_sha256 : str or None
        Of its RECORD, which holds a digest of each of its files.
    """

    name: str
    version: str
    summary: str | None
    expression: str | None
    licence: str
    needs: tuple[str, ...]
    files: tuple[str, ...]
    record_sha256: str | None

    @property
    def purl(self) -> str:
        """Return its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def normalised(name: str) -> str:
    """Return a distribution's name as it is compared.

    >>> normalised("Ruamel_yaml.clib")
    'ruamel-yaml-clib'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def installed() -> list[Package]:
    """Return what is installed, sorted by name; the first on the path of two of one name."""
    found: dict[str, Package] = {}
    for distribution in importlib.metadata.distributions():
        package = _package(distribution)
        if package is not None:
            found.setdefault(package.name, package)
    return [found[name] for name in sorted(found)]


def _package(distribution: importlib.metadata.Distribution) -> Package | None:
    told = distribution.metadata
    if told is None or not told["Name"]:
        return None
    record = distribution.read_text("RECORD")
    needs = {
        normalised(match[1])
        for line in distribution.requires or ()
        if not _BY_EXTRA.search(line) and (match := _REQUIREMENT.match(line))
    }
    files = sorted(
        str(file) for file in distribution.files or () if _LICENCE_FILE.search(str(file))
    )
    return Package(
        name=normalised(told["Name"]),
        version=distribution.version,
        summary=told.get("Summary"),
        expression=told.get("License-Expression"),
        licence=_licence(told),
        needs=tuple(sorted(needs)),
        files=tuple(files),
        record_sha256=None if record is None else hashlib.sha256(record.encode()).hexdigest(),
    )


def _licence(told: Any) -> str:
    """Return the licence's name: its expression, its classifiers, or a short text."""
    if told.get("License-Expression"):
        return str(told["License-Expression"])
    classes = [
        each.rpartition(" :: ")[2]
        for each in told.get_all("Classifier") or ()
        if each.startswith(_LICENCE_CLASS)
    ]
    if classes:
        return "; ".join(sorted(set(classes)))
    text = (told.get("License") or "").strip()
    is_name = 0 < len(text) <= LONGEST_NAME and "\n" not in text and text.upper() != "UNKNOWN"
    return text if is_name else NOT_SAID


def bill_of_materials(packages: list[Package]) -> dict[str, Any]:
    """Return the CycloneDX document of these packages."""
    refs = {package.name: package.purl for package in packages}
    product = next((each for each in packages if each.name == PRODUCT), None)
    version = _checkout_version() if product is None else product.version
    root = f"pkg:pypi/{PRODUCT}@{version}"
    others = [package for package in packages if package.name != PRODUCT]
    asked_for = {name for package in others for name in package.needs}
    top = product.needs if product is not None else [n for n in refs if n not in asked_for]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": PRODUCT,
                "version": version,
                "purl": root,
                "licenses": [{"expression": "Apache-2.0"}],
            },
            "properties": [
                {"name": "inquesto:python", "value": platform.python_version()},
                {"name": "inquesto:machine", "value": platform.machine()},
                {"name": "inquesto:system", "value": platform.system()},
            ],
        },
        "components": [_component(package) for package in others],
        "dependencies": [
            {"ref": root, "dependsOn": sorted(refs[name] for name in top if name in refs)},
            *(
                {"ref": each.purl, "dependsOn": sorted(refs[n] for n in each.needs if n in refs)}
                for each in others
            ),
        ],
    }
    text = json.dumps(document, sort_keys=True)
    number = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(text.encode()).hexdigest())
    return {"serialNumber": f"urn:uuid:{number}", **document}


def _checkout_version() -> str:
    file = Path(__file__).resolve().parents[1] / "inquesto_core" / "__init__.py"
    found = re.search(r'^__version__ = "([^"]+)"', file.read_text("utf-8"), re.MULTILINE)
    return found[1] if found else "0"


def _component(package: Package) -> dict[str, Any]:
    named = package.expression is None
    licence = (
        {"license": {"name": package.licence}} if named else {"expression": package.expression}
    )
    out: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
    }
    if package.summary:
        out["description"] = package.summary
    if not named or package.licence != NOT_SAID:
        out["licenses"] = [licence]
    if package.record_sha256 is not None:
        value = package.record_sha256
        out["properties"] = [{"name": "inquesto:record-sha256", "value": value}]
    return out


def licence_rows(packages: list[Package]) -> list[list[str]]:
    """Return the licence list: a heading, then name, version, licence and licence files of each."""
    rows = [["name", "version", "licence", "files"]]
    for each in packages:
        row = [each.name, each.version, each.licence, " ".join(each.files)]
        rows.append([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row])
    return rows


def main(arguments: list[str]) -> int:
    """Write both files into the folder that is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: sbom.py FOLDER\n")
        return 2
    folder, packages = Path(arguments[0]), installed()
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(bill_of_materials(packages), indent=1, ensure_ascii=False) + "\n"
    (folder / "sbom.cdx.json").write_text(text, encoding="utf-8")
    with (folder / "licences.csv").open("w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(licence_rows(packages))
    unsaid = [each.name for each in packages if each.licence == NOT_SAID]
    sys.stdout.write(f"{len(packages)} packages in {folder}/sbom.cdx.json and licences.csv\n")
    if unsaid:
        sys.stdout.write(f"without a stated licence: {', '.join(unsaid)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
