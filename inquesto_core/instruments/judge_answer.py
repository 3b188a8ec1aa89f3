"""What answer the judge may give: the grammar that binds it, and the one reading of its text.

Exactly one object, ``{"verdict":true,"turn":3,"reason":"…"}``, without free white space, its turn
one of the call's, its reason short and printable ASCII. Anything else is undetermined: nothing is
mended, no number or keyword is looked for, and no default is filled in.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

__all__ = ["JudgeAnswer", "answer_grammar", "longest_answer", "read_answer"]

_ANSWER = re.compile(
    r'\{"verdict":(?P<verdict>true|false),"turn":(?P<turn>null|0|[1-9][0-9]{0,6}),'
    r'"reason":"(?P<reason>[ !#-\[\]-~]*)"\}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """One legal answer."""

    verdict: bool
    turn: int | None
    reason: str


def _numbers_to(last: int) -> str:
    """Return grammar alternatives for 0..`last` without leading zeros."""
    digits = str(last)
    out = ["[0-9]" if last >= 9 else f"[0-{last}]"]
    out += [f"[1-9] [0-9]{{{length - 1}}}" for length in range(2, len(digits))]
    if len(digits) > 1:
        for at, digit in enumerate(digits):
            low, high = (1 if at == 0 else 0), int(digit) - 1
            if high >= low:
                rest = len(digits) - at - 1
                head = f'"{digits[:at]}" ' if at else ""
                out.append(f"{head}[{low}-{high}]" + (f" [0-9]{{{rest}}}" if rest else ""))
        out.append(f'"{digits}"')
    return " | ".join(out)


def answer_grammar(n_turns: int, *, max_reason_characters: int) -> str:
    """Return the GBNF of what may follow ``{"verdict":`` about a call of `n_turns` turns."""
    turn = '"null"' + (f" | {_numbers_to(n_turns - 1)}" if n_turns else "")
    return (
        'root ::= ("true" | "false") ",\\"turn\\":" turn ",\\"reason\\":\\"" reason "\\"}"\n'
        f"turn ::= {turn}\n"
        f"reason ::= character{{0,{max_reason_characters}}}\n"
        "character ::= [ !#-\\[\\]-~]\n"
    )


def longest_answer(n_turns: int, *, max_reason_characters: int) -> int:
    """Return the most characters, and so tokens, that a legal answer's free part can have."""
    turn = max(4, len(str(max(0, n_turns - 1))))
    return len('false,"turn":,"reason":""}') + turn + max_reason_characters


def read_answer(text: str, *, n_turns: int, max_reason_characters: int) -> JudgeAnswer | None:
    """Return the answer in a text that is exactly one legal object, else None.

    >>> read_answer('{"verdict":true,"turn":1,"reason":"x"}', n_turns=2, max_reason_characters=160)
    JudgeAnswer(verdict=True, turn=1, reason='x')
    >>> read_answer("Step 1 of 3: true", n_turns=2, max_reason_characters=160) is None
    True
    """
    found = _ANSWER.fullmatch(text)
    if found is None or len(found["reason"]) > max_reason_characters:
        return None
    turn = None if found["turn"] == "null" else int(found["turn"])
    if turn is not None and turn >= n_turns:
        return None
    return JudgeAnswer(
        verdict=json.loads(found["verdict"]),
        turn=turn,
        reason=found["reason"],
    )
