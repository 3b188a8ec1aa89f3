"""The key of a labelling sheet: which call and question each item is, and what it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.compare.halves import HALVES, SPLIT_NAME
from inquesto_core.compare.sampling import ITEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SheetKey", "parse_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetKey:
    """What stays with the owner of the run.

    Parameters
    ----------
    sheet : str
        Name of the sheet: 16 hex digits.
    secret : str
        Key of the draw, the order and the items' names, in hex.
    protocol, population : tuple of str
        Name and digest of each.
    shown : mapping of str to str
        Digest of what the sheet shows of each drawn call, by call id.
    strata : tuple of (str, int, int)
        Stratum, its calls, those drawn.
    items : table `ITEMS`
    """

    sheet: str
    secret: str
    protocol: tuple[str, str]
    population: tuple[str, str]
    shown: Mapping[str, str]
    strata: tuple[tuple[str, int, int], ...]
    items: pl.DataFrame

    def document(self) -> dict[str, Any]:
        """Return the key as ``key.json`` holds it."""
        halves = self.items["half"].to_list()
        return {
            "schema_version": "1",
            "sheet": self.sheet,
            "secret": self.secret,
            "protocol": dict(zip(("name", "digest"), self.protocol, strict=True)),
            "population": dict(zip(("name", "digest"), self.population, strict=True)),
            "split": {"name": SPLIT_NAME, "items": {half: halves.count(half) for half in HALVES}},
            "calls": [
                {"call_id": name, "shown_sha256": digest} for name, digest in self.shown.items()
            ],
            "strata": [
                {"stratum": name, "calls": calls, "drawn": drawn}
                for name, calls, drawn in self.strata
            ],
            "items": self.items.to_dicts(),
        }


def parse_key(data: bytes, *, file: str) -> SheetKey:
    """Return the key in a file.

    Raises
    ------
    SchemaError
        It is no ``key.json``.
    """
    raw = schema.load(data, "sheet_key", file=file)
    return SheetKey(
        sheet=raw["sheet"],
        secret=raw["secret"],
        protocol=(raw["protocol"]["name"], raw["protocol"]["digest"]),
        population=(raw["population"]["name"], raw["population"]["digest"]),
        shown={row["call_id"]: row["shown_sha256"] for row in raw["calls"]},
        strata=tuple((row["stratum"], row["calls"], row["drawn"]) for row in raw["strata"]),
        items=pl.DataFrame(
            [{**row, "weight": float(row["weight"])} for row in raw["items"]],
            schema=ITEMS,
            orient="row",
        ),
    )
