"""The words that deny, language by language, in the form that the normaliser gives.

A word lost or gained from such a list may turn round what a caller wants; that is all it says. A
list is no grammar: *not only*, double negation and words that merely look alike are counted too.
Users add words and languages; nothing is ever taken out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["DEFAULT_LANGUAGE", "NEGATIONS", "negations_of"]

#: Read where no language is told.
DEFAULT_LANGUAGE = "en"

_LISTS = {
    "en": "not no never none nothing nobody nowhere neither nor without nope nah dont cannot",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand nirgends nein"
    " weder ohne nee nö",
    "es": "no nunca jamás nada nadie ningún ninguno ninguna ni tampoco sin",
    "fr": "ne pas non jamais rien aucun aucune ni sans nullement",
    "it": "non no mai niente nulla nessuno nessuna né senza neanche neppure",
    "pt": "não nao nunca jamais nada ninguém nenhum nenhuma nem sem",
    "nl": "niet geen nooit niets niemand nee nergens noch zonder",
    "pl": "nie nigdy nic nikt żaden żadna żadne ani bez",
    "tr": "değil hayır yok hiç asla",
    "hi": "नहीं नही मत ना न बिना nahi nahin nahee mat na bina",
}

#: Language code to its words.
NEGATIONS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}


def negations_of(
    language: str | None, more: Mapping[str, Iterable[str]] | None = None
) -> frozenset[str] | None:
    """Return the words that deny in a language, with those of a user, or none where no list is.

    Parameters
    ----------
    language : str or None
        A code such as ``de`` or ``de-AT``, of which the first part is read; languages of mixed
        speech are joined by ``+`` (``hi+en``). None is `DEFAULT_LANGUAGE`.
    more : mapping of language code to words
        Each word is put in the normaliser's form; one of several words counts by its words.

    >>> sorted(negations_of("xx", {"xx": ["Nē"]}))
    ['nē']
    >>> negations_of("xx") is None
    True
    """
    found: set[str] = set()
    is_known = False
    for code in (language or DEFAULT_LANGUAGE).lower().replace("_", "-").split("+"):
        base = code.strip().partition("-")[0]
        own = (more or {}).get(base)
        if base in NEGATIONS or own is not None:
            is_known = True
        found |= NEGATIONS.get(base, frozenset())
        for word in own or ():
            found.update(spoken_words(word))
    return frozenset(found) if is_known else None
