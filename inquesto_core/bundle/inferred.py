"""What was inferred in many calls, told once a kind: which field, which value, how, in how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.bundle.call import Inferred

__all__ = ["InferredKind", "InferredTally"]

#: Longer values are cut in the line.
_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredKind:
    """One field that was inferred in one way.

    Parameters
    ----------
    field, how : str
    value : object
        What it was taken to be; of several values the one of the first call.
    is_one_value : bool
        It is the same in all of them.
    calls : int
    """

    field: str
    how: str
    value: Any
    is_one_value: bool
    calls: int

    def line(self) -> str:
        """Return the kind as a line.

        >>> InferredKind(
        ...     field="/ended/by", how="endedReason", value="caller", is_one_value=True, calls=3
        ... ).line()
        'inferred in 3 calls: /ended/by = "caller": endedReason'
        """
        shown = canonical_bytes(self.value).decode()
        if len(shown) > _SHOWN_CHARACTERS:
            shown = shown[:_SHOWN_CHARACTERS] + "…"
        several = "" if self.is_one_value else ", and others"
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"inferred in {calls}: {self.field} = {shown}{several}: {self.how}"


class InferredTally:
    """Counts what was inferred, call by call; holds one value a kind, however many calls."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], InferredKind] = {}

    def add(self, inferred: Iterable[Inferred]) -> None:
        """Count what was inferred in one call; the same field and way are counted once."""
        one_call = {(each.field, each.how): each.value for each in inferred}
        for (field, how), value in one_call.items():
            known = self._found.get((field, how))
            self._found[field, how] = InferredKind(
                field=field,
                how=how,
                value=value if known is None else known.value,
                is_one_value=known is None or (known.is_one_value and known.value == value),
                calls=1 if known is None else known.calls + 1,
            )

    def kinds(self) -> tuple[InferredKind, ...]:
        """Return the kinds, by field and way."""
        return tuple(self._found[key] for key in sorted(self._found))
