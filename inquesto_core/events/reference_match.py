"""Whether a prediction holds everything that a reference answer asks for, in any order.

========================  =======================================================================
reference, prediction     they match where
========================  =======================================================================
object, object            every key of the reference is there with a value that matches
list, list                every entry of the reference has an entry of its own that matches it
object, list              the last object of the list matches; what came before is not looked at
numbers                   ``|prediction - reference| <= absolute + relative x |reference|``, after
                          text that is a decimal number was taken for one
other text                equal, after what the flags say
true, false, null         the same
========================  =======================================================================

Extra keys and entries are tolerated unless they are disallowed. That entries have partners *of
their own* is decided by a maximum matching: the first entry that fits may be the only one for
another.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MatchFlags", "match_reference", "without_side"]

_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)
_SPACES = re.compile(r"\s+")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

#: The key by which an action says whose it is; without it, it is the agent's.
SIDE = "side"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFlags:
    """How strictly values are compared.

    Parameters
    ----------
    ignore_capitalization, ignore_punctuation : bool
        Of text that is no number; punctuation is that of ASCII.
    clean_text : bool
        Compatible forms of a character are one (NFKC), and runs of white space are one space.
    disallow_extra_items : bool
        Keys and entries that the reference lacks are a mismatch.
    relative_tolerance, absolute_tolerance : float
        Of numbers, inclusive.
    """

    ignore_capitalization: bool = False
    ignore_punctuation: bool = False
    clean_text: bool = False
    disallow_extra_items: bool = False
    relative_tolerance: float = 1e-5
    absolute_tolerance: float = 1e-8


def match_reference(reference: Any, prediction: Any, flags: MatchFlags) -> tuple[bool, str]:
    """Return whether a prediction satisfies a reference, and what it lacks.

    Parameters
    ----------
    reference, prediction : JSON values
        An object or a list of objects each. A list of nothing was predicted where objects are
        asked for: no match.

    Examples
    --------
    >>> match_reference([{"n": 1}], [{"n": "1.0", "more": 2}], MatchFlags())
    (True, 'all 1 of the reference matched')
    >>> match_reference({"n": 1}, [{"n": 1}, {"n": 2}], MatchFlags())
    (False, 'the last of 2 predictions does not match: /n')
    """
    if isinstance(reference, dict):
        return _match_last(reference, prediction, flags)
    predictions = prediction if isinstance(prediction, list) else [prediction]
    found = _partners(reference, predictions, flags)
    lonely = [f"/{at}" for at in range(len(reference)) if at not in found]
    if lonely:
        of = f"{len(predictions)} predictions" if len(predictions) != 1 else "1 prediction"
        return False, f"no match of its own among {of}: {', '.join(lonely)}"
    if flags.disallow_extra_items and len(predictions) > len(reference):
        return False, f"{len(predictions) - len(reference)} predictions more than the reference"
    return True, f"all {len(reference)} of the reference matched"


def without_side(actions: Any, side: str) -> tuple[Any, tuple[int, ...]]:
    """Return a reference or prediction without the actions of a side, and which those were.

    Whose an action is its key ``side`` says; without it, it is the agent's. Nothing is left of an
    object that is of the side: None.
    """
    if isinstance(actions, dict):
        return (None, (0,)) if actions.get(SIDE, "agent") == side else (actions, ())
    theirs = tuple(at for at, action in enumerate(actions) if action.get(SIDE, "agent") == side)
    left = [action for at, action in enumerate(actions) if at not in theirs]
    return (left if left or not theirs else None), theirs


def _match_last(reference: Any, prediction: Any, flags: MatchFlags) -> tuple[bool, str]:
    if isinstance(prediction, list):
        if not prediction:
            return False, "nothing was predicted"
        name = f"the last of {len(prediction)} predictions"
        last = prediction[-1]
    else:
        name, last = "the prediction", prediction
    if _matches(reference, last, flags):
        return True, f"{name} matches"
    return False, f"{name} does not match: {', '.join(_different_keys(reference, last, flags))}"


def _different_keys(reference: Any, prediction: Any, flags: MatchFlags) -> list[str]:
    if not isinstance(prediction, dict):
        return ["it is no object"]
    wrong = [
        f"/{key}"
        for key, value in reference.items()
        if key not in prediction or not _matches(value, prediction[key], flags)
    ]
    extra = sorted(prediction.keys() - reference.keys()) if flags.disallow_extra_items else []
    return wrong + [f"/{key} is too much" for key in extra]


def _matches(reference: Any, prediction: Any, flags: MatchFlags) -> bool:
    if isinstance(reference, dict):
        return isinstance(prediction, dict) and _objects_match(reference, prediction, flags)
    if isinstance(reference, list):
        return (
            isinstance(prediction, list)
            and not (flags.disallow_extra_items and len(prediction) > len(reference))
            and len(_partners(reference, prediction, flags)) == len(reference)
        )
    if isinstance(reference, bool | None) or isinstance(prediction, bool | None):
        return reference is prediction
    if isinstance(prediction, dict | list):
        return False
    return _scalars_match(reference, prediction, flags)


def _objects_match(reference: Any, prediction: Any, flags: MatchFlags) -> bool:
    if flags.disallow_extra_items and prediction.keys() - reference.keys():
        return False
    return all(
        key in prediction and _matches(value, prediction[key], flags)
        for key, value in reference.items()
    )


def _scalars_match(reference: Any, prediction: Any, flags: MatchFlags) -> bool:
    ours, theirs = _number(reference), _number(prediction)
    if ours is not None and theirs is not None:
        limit = flags.absolute_tolerance + flags.relative_tolerance * abs(ours)
        return abs(theirs - ours) <= limit
    return _text(reference, flags) == _text(prediction, flags)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) is None:
            return None
        value = float(value)
    number = float(value)
    return number if math.isfinite(number) else None


def _text(value: Any, flags: MatchFlags) -> str:
    text = str(value)
    if flags.clean_text:
        text = _SPACES.sub(" ", unicodedata.normalize("NFKC", text)).strip()
    if flags.ignore_capitalization:
        text = text.casefold()
    if flags.ignore_punctuation:
        text = text.translate(_PUNCTUATION)
    return text


def _partners(
    references: Sequence[Any], predictions: Sequence[Any], flags: MatchFlags
) -> dict[int, int]:
    """Return a maximum matching: place of a reference to place of its own prediction."""
    fits = [
        [at for at, prediction in enumerate(predictions) if _matches(reference, prediction, flags)]
        for reference in references
    ]
    taken_by: dict[int, int] = {}
    for first in range(len(fits)):
        _find_partner(first, fits, taken_by)
    return {reference: prediction for prediction, reference in taken_by.items()}


def _find_partner(first: int, fits: Sequence[Sequence[int]], taken_by: dict[int, int]) -> None:
    """Give a reference a prediction, and those that had it another one, if that can be done.

    Breadth first, so that thousands of entries need no deep recursion.
    """
    came_from: dict[int, int] = {}  # prediction to the reference that reached for it
    queue = [first]
    while queue:
        reference = queue.pop(0)
        for at in fits[reference]:
            if at in came_from:
                continue
            came_from[at] = reference
            if at in taken_by:
                queue.append(taken_by[at])
                continue
            before = {who: place for place, who in taken_by.items()}
            place: int | None = at
            while place is not None:
                who = came_from[place]
                taken_by[place] = who
                place = before.get(who)
            return
