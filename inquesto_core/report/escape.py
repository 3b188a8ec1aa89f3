"""Text that came from outside, made harmless where it is shown."""

from __future__ import annotations

import unicodedata

__all__ = ["escape_terminal"]

#: Control, format (bidirectional and zero-width among them), surrogate, private and separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def escape_terminal(text: str) -> str:
    r"""Return `text` with every character that steers a terminal shown as an escape.

    >>> escape_terminal("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    return "".join(
        letter.encode("unicode_escape").decode()
        if unicodedata.category(letter) in _HIDDEN
        else letter
        for letter in text
    )
