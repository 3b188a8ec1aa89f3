"""The key of a review sheet: which call each item is, and for how many calls it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ITEMS", "REVIEW_KIND", "ReviewKey", "parse_review_key"]

REVIEW_KIND = "review"

#: One row a question about a call, in the order of the sheet.
ITEMS: dict[str, pl.DataType | type[pl.DataType]] = {
    "item": pl.String,
    "call_id": pl.String,
    "question": pl.String,
    "part": pl.String,  # sample | apart
    "stratum": pl.String,
    "weight": pl.Float64,  # null apart: it stands for no call but itself
    "run_says": pl.Boolean,  # null = undetermined
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewKey:
    """What stays with the owner of the run.

    Parameters
    ----------
    seed : int
        Draws the same sample of the same calls again.
    agent : str or None
        Whose calls; None = all of the run.
    z : float
        Normal quantile of the protocol's confidence level.
    strata : mapping of stratum to (calls, drawn)
    run_says : mapping of question to (true, told)
        What the run says of all its calls: how many are true, of how many it could tell.
    items : table `ITEMS`
    """

    sheet: str
    seed: int
    agent: str | None
    protocol: tuple[str, str]
    population: tuple[str, str]
    z: float
    by: tuple[str, ...]
    strata: Mapping[str, tuple[int, int]]
    run_says: Mapping[str, tuple[int, int]]
    items: pl.DataFrame

    def document(self) -> dict[str, Any]:
        """Return the key as ``key.json`` holds it."""
        return {
            "schema_version": "1",
            "kind": REVIEW_KIND,
            "sheet": self.sheet,
            "seed": self.seed,
            "agent": self.agent,
            "protocol": dict(zip(("name", "digest"), self.protocol, strict=True)),
            "population": dict(zip(("name", "digest"), self.population, strict=True)),
            "z": self.z,
            "by": list(self.by),
            "strata": [
                {"stratum": name, "calls": calls, "drawn": drawn}
                for name, (calls, drawn) in self.strata.items()
            ],
            "run_says": [
                {"question": name, "true": true, "n": n}
                for name, (true, n) in self.run_says.items()
            ],
            "items": self.items.to_dicts(),
        }


def _refuse_strangers(raw: Mapping[str, Any], file: str) -> None:
    known = {
        "question": {row["question"] for row in raw["run_says"]},
        "stratum": {row["stratum"] for row in raw["strata"]} | {None},
    }
    lists = {"question": "run_says", "stratum": "strata"}
    for at, item in enumerate(raw["items"]):
        for name, there in known.items():
            if item[name] not in there:
                raise SchemaError(
                    Problem(
                        code="key_inconsistent",
                        file=file,
                        pointer=f"/items/{at}/{name}",
                        found=f"is {str(item[name])[:80]!r}",
                        expected=f"a {name} of {lists[name]}",
                        remedy="give the key as `sample` wrote it",
                    )
                )


def parse_review_key(data: bytes, *, file: str) -> ReviewKey:
    """Return the key in a file.

    Raises
    ------
    SchemaError
        It is no ``key.json`` of a review sheet; an item is of a question or stratum that it does
        not list (``key_inconsistent``).
    """
    raw = schema.load(data, "review_key", file=file)
    _refuse_strangers(raw, file)
    items = [
        {**row, "weight": None if row["weight"] is None else float(row["weight"])}
        for row in raw["items"]
    ]
    return ReviewKey(
        sheet=raw["sheet"],
        seed=raw["seed"],
        agent=raw["agent"],
        protocol=(raw["protocol"]["name"], raw["protocol"]["digest"]),
        population=(raw["population"]["name"], raw["population"]["digest"]),
        z=float(raw["z"]),
        by=tuple(raw["by"]),
        strata={row["stratum"]: (row["calls"], row["drawn"]) for row in raw["strata"]},
        run_says={row["question"]: (row["true"], row["n"]) for row in raw["run_says"]},
        items=pl.DataFrame(items, schema=ITEMS, orient="row"),
    )
