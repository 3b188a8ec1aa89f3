"""Text that came from outside, made harmless where it is shown, and how wide it is there.

What a character could steer or hide is shown as an escape instead: it is for people to read and is
not meant to be undone.
"""

from __future__ import annotations

import html
import unicodedata

__all__ = [
    "clip_columns",
    "display_width",
    "escape_cell",
    "escape_html",
    "escape_terminal",
    "wrap_columns",
]

#: Control, format (bidirectional and zero-width among them), surrogate, private and separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

#: Letters and marks that are drawn as nothing (Unicode: default ignorable), first and last.
_INVISIBLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)

#: With these a spreadsheet begins a formula; the second four are their full-width forms.
_FORMULA = tuple("=+-@＝＋－＠")

_MORE = "…"


def _is_hidden(letter: str) -> bool:
    if unicodedata.category(letter) in _HIDDEN:
        return True
    code = ord(letter)
    return any(low <= code <= high for low, high in _INVISIBLE)


def escape_terminal(text: str) -> str:
    r"""Return `text` with every character that steers a terminal or is not seen as an escape.

    >>> escape_terminal("a\x1b[31mb\u202ec\n")
    'a\\x1b[31mb\\u202ec\\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if _is_hidden(letter) else letter
        for letter in text
    )


def escape_cell(text: str) -> str:
    """Return `text` as a CSV cell that no spreadsheet takes for a formula; quoting is the writer's.

    A cell whose first mark that is no space is one of ``= + - @`` gets an apostrophe before it. For
    text only: a negative number is written as a number.

    >>> escape_cell("=1+1"), escape_cell("a=1")
    ("'=1+1", 'a=1')
    """
    shown = escape_terminal(text)
    return "'" + shown if shown.lstrip().startswith(_FORMULA) else shown


def escape_html(text: str) -> str:
    r"""Return `text` as it may stand in an element or a quoted attribute of a page.

    >>> escape_html('<b>"\u202e')
    '&lt;b&gt;&quot;\\u202e'
    """
    return html.escape(escape_terminal(text), quote=True)


def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1


def display_width(text: str) -> int:
    """Return how many terminal columns escaped text takes: wide letters two, combining marks none.

    >>> display_width("abc"), display_width("日本"), display_width("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_letter_width, text))


def _split_at(text: str, columns: int) -> int:
    """Return how many letters of `text` fit, at least one."""
    taken = 0
    for at, letter in enumerate(text):
        taken += _letter_width(letter)
        if taken > columns:
            return max(at, 1)
    return len(text)


def clip_columns(text: str, columns: int) -> str:
    """Return escaped text cut to `columns`, an ellipsis at its end where something is gone.

    >>> clip_columns("abcdef", 4)
    'abc…'
    """
    if display_width(text) <= columns:
        return text
    return text[: _split_at(text, columns - 1)] + _MORE


def wrap_columns(text: str, columns: int, *, first: str = "", rest: str = "") -> list[str]:
    """Return escaped text in lines of at most `columns`, broken at spaces, else inside a word.

    Parameters
    ----------
    first, rest : str
        What the first line and every other one begins with.

    Returns
    -------
    list of str
        At least one line; none ends in a space.

    Examples
    --------
    >>> wrap_columns("one two three", 9, first="- ", rest="  ")
    ['- one two', '  three']
    """
    lines: list[str] = []
    line, empty = first, True
    for word in text.split(" "):
        left = word
        while left:
            gap = "" if empty else " "
            if display_width(line) + len(gap) + display_width(left) <= columns:
                line, empty, left = line + gap + left, False, ""
            elif empty:
                fits = _split_at(left, columns - display_width(line))
                lines.append(line + left[:fits])
                line, left = rest, left[fits:]
            else:
                lines.append(line)
                line, empty = rest, True
    if not empty or not lines:
        lines.append(line.rstrip(" "))
    return lines
