"""The in-toto statement about a run: its records as predicate, all they were made of as subjects.

It holds no call id: the bundles' files are named by the same keyed hashes that the records use. It
says nothing of when or by whom it was made, so that each signer of a run signs the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core import schema
from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.errors import Problem, VerificationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "PREDICATE_TYPE",
    "STATEMENT_TYPE",
    "Statement",
    "Subject",
    "read_statement",
    "statement_bytes",
]

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
#: Names what the predicate means; there is nothing to fetch under it.
PREDICATE_TYPE = "https://inquesto-core.invalid/run/v1"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Subject:
    """A thing that the statement is about.

    Parameters
    ----------
    name : str
        ``run/…``, ``bundle/<keyed hash>/…``, ``protocol/<name>/…`` or ``model/…``.
    sha256 : str
        Of its bytes, lower-case hex.
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is sealed of a run.

    Parameters
    ----------
    subjects : tuple of Subject
        Sorted by name, each name once.
    records : mapping of file to record
        The records as they stand in the run folder.
    about : mapping
        The predicate's other fields: ``protocol``, ``population``, ``engine``, ``evidence``,
        ``inputs``.
    """

    subjects: tuple[Subject, ...]
    records: Mapping[str, Mapping[str, Any]]
    about: Mapping[str, Any]

    def under(self, kind: str) -> dict[str, str]:
        """Return name to SHA-256 of the subjects of a kind, without it: ``run``, ``model``, …."""
        start = f"{kind}/"
        return {
            each.name.removeprefix(start): each.sha256
            for each in self.subjects
            if each.name.startswith(start)
        }


def statement_bytes(statement: Statement) -> bytes:
    """Return the one byte form of a statement, which is what is signed.

    Raises
    ------
    SchemaError
        It is not what the schema ``statement`` says.
    """
    value = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": each.name, "digest": {"sha256": each.sha256}}
            for each in sorted(statement.subjects)
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {"records": dict(statement.records), **statement.about},
    }
    schema.validate(value, "statement", file="statement")
    return canonical_bytes(value)


def read_statement(payload: bytes) -> Statement:
    """Return the statement in an envelope's payload.

    Raises
    ------
    SchemaError
        It is not strict JSON, or not what the schema ``statement`` says.
    VerificationError
        ``statement_subjects``: a subject stands twice, so that either could be meant.
    """
    value = strict_json(payload, file="statement")
    schema.validate(value, "statement", file="statement")
    subjects = tuple(
        Subject(name=each["name"], sha256=each["digest"]["sha256"]) for each in value["subject"]
    )
    names = [each.name for each in subjects]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise VerificationError(
            Problem(
                code="statement_subjects",
                file="statement",
                found=f"names the subject {twice!r} twice",
                expected="each subject once",
            )
        )
    predicate = dict(value["predicate"])
    return Statement(subjects=subjects, records=predicate.pop("records"), about=predicate)
