"""Which words agree, refuse and deny, by language: what is built in, and what a population adds.

=============  ==========================================================================
``yes``        a turn that has one of these, and no ``no`` or ``negation`` beside it, agrees
``no``         a turn that has one of these refuses, also where it agreed before
``negation``   takes back what stands with it: *yes but not today*, *it is not 49 dollars*
=============  ==========================================================================

The lists are short on purpose: a turn that only may agree is not an explicit yes. A population's
``phrases`` are added to the lists of their language, and may begin a language of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from inquesto_core.protocol import Population

__all__ = ["BUILT_IN", "DEFAULT_LANGUAGE", "Phrases", "languages_of", "phrases_of"]

DEFAULT_LANGUAGE = "en"

BUILT_IN = MappingProxyType(
    {
        "en": {
            "yes": (
                "yes", "yeah", "yep", "yup", "sure", "okay", "alright", "all right", "correct",
                "that is right", "that's right", "go ahead", "please do", "do it", "do that",
                "let's do it", "let's do that", "absolutely", "definitely", "of course",
                "sounds good", "that works", "i agree", "i confirm", "confirmed", "no problem",
                "why not", "that is fine", "that's fine",
            ),
            "no": (
                "no", "nope", "nah", "stop", "wait", "hold on", "don't", "do not", "not yet",
                "never mind", "nevermind", "cancel that", "i changed my mind", "rather not",
            ),
            "negation": ("not", "no", "never", "none", "nothing", "neither", "nor", "without"),
        },
        "de": {
            "yes": (
                "ja", "jawohl", "gerne", "genau", "richtig", "einverstanden", "in ordnung",
                "okay", "machen sie das", "bitte machen", "das passt", "passt", "stimmt",
                "natürlich", "kein problem",
            ),
            "no": ("nein", "nee", "stopp", "moment", "warten sie", "lieber nicht", "noch nicht"),
            "negation": ("nicht", "kein", "keine", "keinen", "nie", "niemals", "nichts", "ohne"),
        },
        "es": {
            "yes": (
                "sí", "claro", "de acuerdo", "vale", "correcto", "adelante", "hágalo",
                "por supuesto", "está bien", "perfecto", "confirmo", "no hay problema",
            ),
            "no": ("no", "espere", "pare", "todavía no", "mejor no"),
            "negation": ("no", "nunca", "nada", "ningún", "ninguna", "tampoco", "sin"),
        },
        "fr": {
            "yes": (
                "oui", "d'accord", "bien sûr", "allez-y", "c'est bon", "très bien", "exactement",
                "parfait", "je confirme", "faites-le", "pas de problème",
            ),
            "no": ("non", "attendez", "arrêtez", "pas encore", "plutôt pas"),
            "negation": ("ne", "pas", "jamais", "rien", "aucun", "aucune", "sans"),
        },
    }
)  # fmt: skip

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """The phrases of one language as words, the longest first."""

    yes: tuple[Words, ...]
    no: tuple[Words, ...]
    negation: tuple[Words, ...]

    def answer(self, said: tuple[Words, ...]) -> bool | None:
        """Return whether the sentences of a turn agree or refuse; None = neither.

        What agrees is looked for first and then counts no more, so that *no problem* is no *no*.
        """
        agrees = refuses = denies = False
        for words in said:
            left, found = _taken(words, self.yes)
            agrees |= found
            refuses |= any(_stands(left, phrase) for phrase in self.no)
            denies |= any(_stands(left, phrase) for phrase in self.negation)
        if refuses:
            return False
        return True if agrees and not denies else None


def languages_of(population: Population) -> frozenset[str]:
    """Return the languages that there are phrases for."""
    return frozenset(BUILT_IN) | frozenset(population.phrases or {})


def phrases_of(population: Population, language: str) -> Phrases:
    """Return a language's phrases, the population's own among them."""
    own, built_in = (population.phrases or {}).get(language, {}), BUILT_IN.get(language, {})
    lists = {
        name: sorted(
            {spoken_words(text) for text in (*built_in.get(name, ()), *own.get(name, ()))} - {()},
            key=lambda words: (-len(words), words),
        )
        for name in ("yes", "no", "negation")
    }
    return Phrases(**{name: tuple(found) for name, found in lists.items()})


def _stands(words: tuple[str | None, ...], phrase: Words) -> bool:
    length = len(phrase)
    return any(words[at : at + length] == phrase for at in range(len(words) - length + 1))


def _taken(words: Words, phrases: tuple[Words, ...]) -> tuple[tuple[str | None, ...], bool]:
    """Return a sentence with every phrase blotted out, and whether there was one."""
    left: list[str | None] = list(words)
    found = False
    for phrase in phrases:
        length = len(phrase)
        for at in range(len(left) - length + 1):
            if tuple(left[at : at + length]) == phrase:
                left[at : at + length] = [None] * length
                found = True
    return tuple(left), found
