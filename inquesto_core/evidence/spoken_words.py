"""What words a text says when it is spoken: the normaliser ``inquesto-words-1``.

Two transcripts of one voice differ in case, punctuation and in how they spell numbers before they
differ in what was said. `spoken_words` takes the first kind of difference away, by these rules and
no others; anything that changes them is a new name.

1. Unicode is NFKC, lower case. What stands in ``[ ]``, ``( )`` or ``< >`` is a remark, not speech.
2. ``&`` is *and*, ``%`` *percent*, ``@`` *at*, ``+`` *plus*; a full stop or colon between letters
   without white space is *dot*; ``$49.50`` is *49 dollars 50 cents*, so with pounds and euros.
3. Contractions are written out where they have one reading (*isn't* is *is not*, *can't* *can not*,
   *I'll* *i will*, *it's* *it is*); any other apostrophe is left out. *cannot* is *can not*.
4. Letters said one by one are letters: ``U.S.`` and ``p.m.`` are *u s* and *p m*, as are *pm*, and
   *am* behind a number. ``ok`` and ``O.K.`` are *okay*.
5. Fillers (*um, uh, er, erm, hmm, mm, mhm, ah, uh-huh*) are no words.
6. Numbers are digits, each digit a word, so that *4471*, *forty-four seventy-one* and *four four
   seven one* are one thing; *point* stays a word, ``1,000`` is *1 0 0 0*, ``:00`` of a time is
   nothing, *double four* is *4 4*, *oh* behind a digit is *0*. Ordinals above the second are their
   number (``15th``, *fifteenth*: *1 5*); *first* and *second* stay words, as ``1st`` and ``2nd``.
7. All other punctuation separates words, marks on letters do not; *e-mail* is *email*. Spelling is
   not touched: *colour* and *color* are two words.
"""

from __future__ import annotations

import re
import unicodedata

from inquesto_core.evidence.spoken_numbers import numbers_as_digits, numbers_whole

__all__ = ["NORMALISER", "is_negation", "is_number", "spoken_pieces", "spoken_words"]

#: The name of these rules; it stands beside every count made with them.
NORMALISER = "inquesto-words-1"

_REMARK = re.compile(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>")
_CURRENCIES = {"$": ("dollars", "cents"), "£": ("pounds", "pence"), "€": ("euros", "cents")}
_MONEY = re.compile(r"([$£€])\s*(\d[\d,]*)(?:\.(\d\d)(?!\d))?")
_SIGNS = {"&": " and ", "%": " percent ", "@": " at ", "+": " plus "}
_DOT = re.compile(r"(?<=[^\W\d_]{2})[.:](?=[^\W\d_]{2})")
_LETTERS = re.compile(r"\b(?:[^\W\d_]\.)+[^\W\d_]\b\.?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_FORENOON = re.compile(r"(?<=\d)\s*am\b")
_UH_HUH = re.compile(r"\buh[- ]?huh\b")
_FULL_HOUR = re.compile(r"(?<=\d):00\b")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_DIGITS_APART = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_WORD = re.compile(r"[^\W_]+")

_FILLERS = frozenset(["um", "uh", "uhm", "er", "erm", "hm", "hmm", "mm", "mmm", "mhm", "ah"])
_WHOLE = {
    "can't": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
    "cannot": "can not", "let's": "let us", "it's": "it is", "that's": "that is",
    "what's": "what is", "there's": "there is", "here's": "here is", "he's": "he is",
    "she's": "she is", "who's": "who is", "where's": "where is", "how's": "how is",
    "ok": "okay", "pm": "p m", "mr": "mister", "mrs": "missus",
}  # fmt: skip
_ENDINGS = (("n't", " not"), ("'re", " are"), ("'ll", " will"), ("'ve", " have"), ("'m", " am"))
_CONTRACTION = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_E_MAIL = re.compile(r"\be[- ]mail")
# fmt: off
_NEGATIONS = frozenset({
    "not", "no", "never", "none", "nothing", "nobody", "nowhere", "neither", "nor", "without",
    "nope", "nah",
})
# fmt: on


def spoken_words(text: str) -> tuple[str, ...]:
    """Return the words that a text says, by the rules above.

    >>> spoken_words("It isn't $49.50 - it's FORTY-NINE, um, O.K.?")
    ('it', 'is', 'not', '4', '9', 'dollars', '5', '0', 'cents', 'it', 'is', '4', '9', 'okay')
    >>> spoken_words("Account 4471.") == spoken_words("account forty-four seventy-one")
    True
    """
    return tuple(numbers_as_digits(_plain_words(text)))


def spoken_pieces(text: str) -> tuple[str, ...]:
    """Return the words of `spoken_words`, but a number as one word where it is said as one.

    >>> spoken_pieces("Flight 472, at 4:30")
    ('flight', '472', 'at', '4', '30')
    """
    return tuple(numbers_whole(_plain_words(text)))


def _plain_words(text: str) -> list[str]:
    """Return the words that rules 1 to 5 and 7 leave, numbers as they stand."""
    said = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("`", "'")
    said = _MONEY.sub(_money, _REMARK.sub(" ", said))
    for sign, word in _SIGNS.items():
        said = said.replace(sign, word)
    said = _LETTERS.sub(_spelled, _UH_HUH.sub(" ", said))
    said = _DOT.sub(" dot ", said)
    said = _POINT.sub(" point ", _FULL_HOUR.sub("", _THOUSANDS.sub("", said)))
    said = _ORDINAL.sub(_ordinal, _FORENOON.sub(" a m", said))
    said = _E_MAIL.sub("email", _CONTRACTION.sub(_written_out, said)).replace("'", "")
    said = _DIGITS_APART.sub(" ", said)
    words = _WORD.findall(said) if said.isascii() else _words_with_marks(said)
    return [word for word in words if word not in _FILLERS]


def is_number(word: str) -> bool:
    """Return whether a word that `spoken_words` gives is a digit."""
    return word.isdigit()


def is_negation(word: str) -> bool:
    """Return whether a word that `spoken_words` gives denies something."""
    return word in _NEGATIONS


def _words_with_marks(said: str) -> list[str]:
    """Return words whose vowel signs and accents are marks of their own, as in Devanagari."""
    kept = [
        letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " "
        for letter in said
    ]
    return "".join(kept).split()


def _money(found: re.Match[str]) -> str:
    whole, part = _CURRENCIES[found[1]]
    said = f" {found[2]} {whole} "
    return said if found[3] in (None, "00") else f"{said}{found[3]} {part} "


def _spelled(found: re.Match[str]) -> str:
    letters = _WORD.findall(found[0])
    return "okay" if letters == ["o", "k"] else " ".join(letters)


def _ordinal(found: re.Match[str]) -> str:
    return {"1": "first", "2": "second"}.get(found[1], found[1])


def _written_out(found: re.Match[str]) -> str:
    word = found[0]
    if word in _WHOLE:
        return _WHOLE[word]
    for ending, said in _ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + said
    return word
