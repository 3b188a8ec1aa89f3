"""Amounts of money that a text states, in digits or in English words, with their places.

A number is money

1. by its unit: a symbol, an ISO code or a word (*$65.52*, *sixty-five dollars and fifty-two cents*,
   *two grand*, *99p*), unless the unit means something else there: a weight (*ten pounds of
   flour*), a street, a pound key, a saying;
2. by another amount: *fifty to sixty dollars*, *between fifty and sixty dollars*;
3. by its form and what is spoken of: *sixty-five fifty-two*, *one oh five fifty*, ``65.52``. The
   nearest topic word in the sentence (`money_words.TOPICS`, up to `TOPIC_BEFORE` words before or
   `TOPIC_AFTER` behind) must be one of money and not of `OTHER_TOPICS`, and what follows must be no
   noun that would be counted. A short answer takes the topic from a question before it;
4. by its place: a plain number right behind *the total is*, *I owe*, *pay*.

Never money: percentages, ordinals, times of day, dates, years, phone numbers, codes, what a label
(*order*, *flight*, *room*) names. Vague ones (*a few hundred dollars*, *a couple of bucks*) have no
value and are left out. Where words have several readings the likelier one is `value`, the others
stand in `other_values`: *three fifty* is 350 or 3.50, *sixty-five fifty-two* 65.52 or 6552.
Words are English; digits with a symbol or code are read in any language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from inquesto_core.events.money_words import (
    CODES,
    FOLLOWS,
    LABELS,
    MONTHS,
    NATIONS,
    OTHER_TOPICS,
    SYMBOLS,
    TOPICS,
    UNITS,
    word_set,
)
from inquesto_core.evidence.spoken_cardinals import (
    BEGINNINGS,
    Group,
    Numbers,
    Token,
    tokenise,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TOPIC_AFTER", "TOPIC_BEFORE", "Amount", "read_amounts", "speaks_of_money"]

#: Words before and behind a number in which a topic word speaks of it.
TOPIC_BEFORE = 12
TOPIC_AFTER = 6

_CENT = Decimal("0.01")
#: The words that an amount can begin with, beside codes.
_BEGINNINGS = BEGINNINGS | {"rs", "rupees"}
_SENTENCE_ENDS = frozenset(".!?;")
_COPULAS = word_set("is was are were be comes to at of for about around exactly just only")
_CLOCK_PREPOSITIONS = word_set("at by until till before after since from")
_YEAR_PREPOSITIONS = word_set("in since year during until by from circa")
#: Before *at* they are of prices: *priced at nine fifty*.
_AT_A_PRICE = word_set("priced quoted starts starting stands remains valued")
_CLOCK_WORDS = word_set("am pm o'clock oclock hours hrs hour")
_PLACE_NAMES = word_set(
    "street st road rd lane ln avenue ave drive court close place way square hill county"
)
_KEYS = word_set("key sign button symbol")
_WEIGHTS = word_set(
    "weigh weighs weighed weighing weight heavy heavier lighter lift lifts lifted lose lost gain"
    " gained ounce ounces oz stone luggage baggage suitcase"
)
#: What *pounds of* may go on with and still be money.
_OF_MONEY = word_set(
    "the that this these those it my your our their his her debt debts credit refund compensation"
    " savings arrears value which what"
)
_GRAND_NOUNS = word_set(
    "piano pianos child children daughter daughters son sons parent parents slam slams prix jury"
    " juries theft hotel canyon opening openings total totals master masters finale final"
    " tour tours duke uncle aunt father mother staircase"
)
_RUN_NOUNS = word_set("run runs race races km kilometer kilometre")
_RESOLUTIONS = frozenset({480, 720, 1080, 1440, 2160})
#: Between the parts of one amount said in the plain order: *twenty more dollars*.
_EXTRA = word_set("more extra additional odd whole")
_PAYING = word_set("pay pays paid paying")
_DIRECT = word_set(
    "balance total bill amount fee price cost charge refund payment deposit fare owe owes owed pay"
    " paid paying costs cost charged spend spent credit quote budget rent"
)
_ANY_NUMBER = re.compile(
    r"\d|\b(?:an?|half|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|"
    r"twenty|thirty|fou?rty|fifty|sixty|seventy|eighty|ninety|zero)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """One amount of money.

    Parameters
    ----------
    value : Decimal
        In whole units: 65.52. Negative only where *minus* or a minus sign says so.
    other_values : tuple of Decimal
        What else the same words may mean.
    currency : str or None
        ISO 4217, none where the words leave it open. *dollars* alone are USD, *pounds* GBP.
    start, end : int
        Characters of the text, half-open.
    form : str
        ``symbol``, ``code``, ``unit``, ``unit_and_cents``, ``cents``, ``range``, ``pair`` (no unit,
        by topic), ``decimal`` (digits with two decimals, by topic) or ``bare`` (by its place).
    by_earlier_topic : bool
        Read only because money was spoken of just before.
    """

    value: Decimal
    other_values: tuple[Decimal, ...] = ()
    currency: str | None
    start: int
    end: int
    form: str
    by_earlier_topic: bool = False

    def may_be(self, value: Decimal, *, tolerance: Decimal = Decimal(0)) -> bool:
        """Return whether some reading lies within `tolerance`, inclusive, of `value`."""
        return any(abs(one - value) <= tolerance for one in (self.value, *self.other_values))


def read_amounts(text: str, *, money_is_topic: bool = False) -> tuple[Amount, ...]:
    """Return the amounts of money that a text states, in the order in which they stand.

    Parameters
    ----------
    text : str
        One turn, or any text.
    money_is_topic : bool
        Whether money was spoken of just before, as by *How much is it?* in the turn before: then
        rule 3 asks for no topic word; words of other topics still speak against it.

    Examples
    --------
    >>> [str(one.value) for one in read_amounts("Your balance is sixty-five fifty-two.")]
    ['65.52']
    >>> [str(one.value) for one in read_amounts("$1,200 and two grand, then a dollar fifty")]
    ['1200', '2000', '1.50']
    >>> read_amounts("zip code sixty-five fifty-two, 20 percent, March 5th at 6:52")
    ()
    """
    if not _ANY_NUMBER.search(text):
        return ()
    return _Reader(tokenise(text), money_is_topic=money_is_topic).amounts()


def speaks_of_money(text: str) -> bool:
    """Return whether the last topic word of a text is one of money: what it leaves to answer.

    >>> speaks_of_money("And how much is it?"), speaks_of_money("What is my account number?")
    (True, False)
    """
    kinds = (_kind(token.low) for token in reversed(tokenise(text)))
    return next((kind for kind in kinds if kind is not None), False)


@dataclass(frozen=True, slots=True)
class _Found:
    """An amount on tokens, half-open."""

    values: tuple[Decimal, ...]
    currency: str | None
    first: int
    last: int
    form: str
    by_earlier_topic: bool = False


class _Reader:
    """One text's tokens, and what each place of them means."""

    def __init__(self, tokens: Sequence[Token], *, money_is_topic: bool) -> None:
        self.tokens = tokens
        self.numbers = Numbers(tokens)
        self.money_is_topic = money_is_topic

    def amounts(self) -> tuple[Amount, ...]:
        out: list[_Found] = []
        at = 0
        while at < len(self.tokens):
            if self.tokens[at].kind == "word" and not self._may_begin(at):
                at += 1
                continue
            found = self._with_mark(at)
            if found is not None:
                out += [found, *self._range_end(found)]
                at = out[-1].last
                continue
            groups = self.numbers.run(at)
            if groups:
                read = self._number(groups)
                out += read
                at = max([groups[-1].last, *(one.last for one in read)])
                continue
            found = self._one_unit(at)
            if found is not None:
                out.append(found)
            at = at + 1 if found is None else found.last
        return tuple(self._amount(found) for found in out)

    def _may_begin(self, at: int) -> bool:
        """Return whether an amount can begin with a word; most words are passed over by this."""
        token = self.tokens[at]
        return token.low in _BEGINNINGS or token.text in CODES or self.low(at + 1) == "$"

    def low(self, at: int) -> str:
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def _amount(self, found: _Found) -> Amount:
        first = found.first
        sign = 1
        if self.low(first - 1) == "minus" or (
            self.low(first - 1) == "-"
            and self.tokens[first - 1].end == self.tokens[first].start
            and (first < 2 or self.tokens[first - 2].end < self.tokens[first - 1].start)
        ):
            first, sign = first - 1, -1
        values = tuple(dict.fromkeys(_plain(sign * value) for value in found.values))
        return Amount(
            value=values[0],
            other_values=values[1:],
            currency=found.currency,
            start=self.tokens[first].start,
            end=self.tokens[found.last - 1].end,
            form=found.form,
            by_earlier_topic=found.by_earlier_topic,
        )

    # -- by a symbol or code before the number ----------------------------------------------

    def _with_mark(self, at: int) -> _Found | None:
        """Return an amount whose symbol or code stands at `at`, before its number."""
        currency, behind = self._mark(at)
        if behind == at:
            return None
        groups = self.numbers.run(behind)
        if not groups:
            return None
        group = groups[0]
        if group.written:
            values: tuple[Decimal, ...] = (group.value,)
            last = group.last
        else:
            values, last = _readings(groups), groups[-1].last
        if not values:
            return None
        form = "symbol" if self.tokens[behind - 1].kind == "sign" else "code"
        if self.low(last) in UNITS and UNITS[self.low(last)].times == 1:
            last += 0 if UNITS[self.low(last)].minor else 1
        elif self.low(last) == "grand":
            values, last = tuple(1000 * value for value in values), last + 1
        values, last, has_tail = self._tail(values, last)
        return _Found(values, currency, at, last, "unit_and_cents" if has_tail else form)

    def _range_end(self, found: _Found) -> tuple[_Found, ...]:
        """Return the second end of ``$50-60``."""
        groups = self.numbers.run(found.last + 1)
        if self.low(found.last) != "-" or not groups or not groups[0].written:
            return ()
        group = groups[0]
        return (_Found((group.value,), found.currency, group.first, group.last, "range"),)

    def _mark(self, at: int) -> tuple[str | None, int]:
        """Return the currency of a mark at `at`, and the token behind it (`at` where none is)."""
        low = self.low(at)
        if low in SYMBOLS:
            return SYMBOLS[low], at + 1
        if self.low(at + 1) == "$" and self.tokens[at].end == self.tokens[at + 1].start:
            nation = NATIONS["USD"].get(low)
            return (nation, at + 2) if nation else (None, at)
        if at < len(self.tokens) and self.tokens[at].text in CODES:
            return self.tokens[at].text, at + 1
        if low == "rs":
            return "INR", at + 2 if self.low(at + 1) == "." else at + 1
        if low == "rupees" and not self._is_number_before(at):
            return "INR", at + 1
        return None, at

    def _is_number_before(self, at: int) -> bool:
        return at > 0 and any(
            groups[-1].last == at
            for start in range(max(0, at - 6), at)
            if (groups := self.numbers.run(start))
        )

    # -- by what follows the number ---------------------------------------------------------

    def _number(self, groups: tuple[Group, ...]) -> tuple[_Found, ...]:
        unit = self._unit(groups)
        if unit is not None:
            return (unit,) if unit.values else ()
        ranged = self._ranged(groups)
        if ranged:
            return ranged
        found = self._by_topic(groups)
        return () if found is None else (found,)

    def _unit(self, groups: tuple[Group, ...]) -> _Found | None:
        """Return the amount whose unit follows; with no values where the unit is no money."""
        last = groups[-1].last
        place = last + 1 if self.low(last) in _EXTRA else last
        if self.low(place) in SYMBOLS and self.tokens[place].low != "$":
            values = _readings(groups)
            return _Found(values, SYMBOLS[self.low(place)], groups[0].first, place + 1, "symbol")
        if place < len(self.tokens) and self.tokens[place].text in CODES:
            values = _readings(groups)
            return _Found(values, self.tokens[place].text, groups[0].first, place + 1, "code")
        nation, place = self._nation(place)
        unit = UNITS.get(self.low(place))
        if unit is None or not self._is_unit_here(place):
            return None
        if self._is_not_money(groups, place):
            return _Found((), None, groups[0].first, place + 1, "unit")
        values = _readings(groups)
        first = groups[0].first
        if not values:
            values, first = (groups[-1].value,), groups[-1].first
        if unit.minor:
            values = tuple(value * _CENT for value in values)
            return _Found(values, unit.currency, first, place + 1, "cents")
        values = tuple(value * unit.times for value in values)
        currency = unit.currency
        last = place + 1
        if unit.times > 1 and (more := UNITS.get(self.low(last))) and more.times == 1:
            currency, last = more.currency, last + 1
        if nation:
            currency = NATIONS.get(unit.currency or "", {}).get(nation, currency)
        if self.low(last) == "sterling":
            last += 1
        values, last, has_tail = self._tail(values, last)
        return _Found(values, currency, first, last, "unit_and_cents" if has_tail else "unit")

    def _is_unit_here(self, at: int) -> bool:
        """Return whether a lone letter is a unit: *k* at its number, *p* in words.

        *K seven P Q* is a code: a capital is no unit, nor is a letter among letters.
        """
        low = self.low(at)
        if low not in {"k", "p"}:
            return True
        if self.tokens[at - 1].end == self.tokens[at].start:
            return True
        if low == "k":
            return self.low(at + 1) in UNITS
        behind = self.tokens[at + 1].text if at + 1 < len(self.tokens) else ""
        return self.tokens[at].text == "p" and not (len(behind) == 1 and behind.isalpha())

    def _nation(self, at: int) -> tuple[str, int]:
        known = any(self.low(at) in nations for nations in NATIONS.values())
        return (self.low(at), at + 1) if known and self.low(at + 1) in UNITS else ("", at)

    def _is_not_money(self, groups: tuple[Group, ...], place: int) -> bool:
        """Return whether a word that is a unit elsewhere is none here."""
        word, following, before = (
            self.low(place),
            self.low(place + 1),
            self.low(groups[0].first - 1),
        )
        if following in _PLACE_NAMES or (following in _KEYS and word == "pound"):
            return True
        if word == "pound" and before in {"press", "hit", "dial", "enter"}:
            return True
        if word in {"pound", "pounds"} and self._is_weight(groups[0].first, place):
            return True
        if word == "grand":
            return following in _GRAND_NOUNS
        if word == "p":
            return following == "m" or groups[-1].value in _RESOLUTIONS
        if word == "k":
            return following in _RUN_NOUNS or groups[-1].value == 401
        if word in {"cents", "pence"}:
            return before in {"my", "your"} and groups[-1].value == 2
        if word == "penny":
            return following in {"lane", "stocks", "stock"} or before in {"every", "a"}
        return word == "dollar" and following in {"question", "store", "stores", "general", "tree"}

    def _is_weight(self, first: int, place: int) -> bool:
        if self.low(place + 1) in {*_WEIGHTS, "overweight", "bag", "bags"}:
            return True
        if self.low(place + 1) == "of":
            return self.low(place + 2) not in _OF_MONEY
        before = {self.low(at) for at in range(max(0, first - 5), first)}
        return bool(before & _WEIGHTS) and not before & TOPICS

    def _tail(
        self, values: tuple[Decimal, ...], last: int
    ) -> tuple[tuple[Decimal, ...], int, bool]:
        """Return an amount with the cents said behind its unit."""
        at = last
        if self.low(at) == ",":
            at += 1
        if self.low(at) in {"and", "&"}:
            at += 1
        if at != last and self.low(at) == "a" and self.low(at + 1) == "half":
            return tuple(value + Decimal("0.5") for value in values), at + 2, True
        groups = self.numbers.run(at)
        if not groups or any(value != int(value) for value in values):
            return values, last, False
        group = groups[0]
        behind = group.last
        unit = UNITS.get(self.low(behind))
        cents = group.value
        if not 0 <= cents < 100 or cents != int(cents):
            return values, last, False
        if unit is not None:
            if not unit.minor or len(groups) > 1:
                return values, last, False
            return tuple(value + cents * _CENT for value in values), behind + 1, True
        is_cents = group.kind == "two" and len(groups) == 1 and self.low(last) != ","
        if not is_cents or not self._is_closed(behind) or self.low(behind) in {"to", "or"}:
            return values, last, False
        return tuple(value + cents * _CENT for value in values), behind, True

    def _ranged(self, groups: tuple[Group, ...]) -> tuple[_Found, ...]:
        """Return both ends of a range whose unit stands behind its second end, or before both."""
        last = groups[-1].last
        word = self.low(last)
        is_between = word == "and" and self.low(groups[0].first - 1) == "between"
        if word not in {"to", "or", "-"} and not is_between:
            return ()
        others = self.numbers.run(last + 1)
        if not others:
            return ()
        found = self._unit(others)
        values = _readings(groups)
        if found is None or not found.values or not values:
            return ()
        if found.form not in {"unit", "symbol", "code"} or found.first != others[0].first:
            return ()
        times = _shared_scale(groups[0], others[0])
        unit = UNITS.get(self.low(others[-1].last))
        times *= unit.times if unit else 1
        low = tuple(value * times for value in values)
        return (_Found(low, found.currency, groups[0].first, last, "range"), found)

    def _one_unit(self, at: int) -> _Found | None:
        """Return *a dollar*, *half a dollar*, *a dollar fifty*, *a grand*."""
        value, place = Decimal(1), at + 1
        if self.low(at) == "half" and self.low(at + 1) in {"a", "an"}:
            value, place = Decimal("0.5"), at + 2
        elif self.low(at) not in {"a", "an"}:
            return None
        unit = UNITS.get(self.low(place))
        if unit is None or unit.minor or self.low(place) in {"k", "dollars", "pounds"}:
            return None
        if self.low(place) == "grand" and not self._is_closed(place + 1):
            return None
        group = Group(value, "digit", 0, at, place, False)
        if self._is_not_money((group,), place):
            return None
        if value == 1 and self.low(place + 1) == "and" and self.low(place + 3) == "half":
            return _Found((Decimal("1.5"),), unit.currency, at, place + 4, "unit_and_cents")
        values, last, has_tail = self._tail((value * unit.times,), place + 1)
        return _Found(values, unit.currency, at, last, "unit_and_cents" if has_tail else "unit")

    # -- without a unit ---------------------------------------------------------------------

    def _by_topic(self, groups: tuple[Group, ...]) -> _Found | None:
        first, last = groups[0].first, groups[-1].last
        end = last + 1 if self.low(last) in {"even", "flat"} else last
        if not self._is_closed(end) or self._is_named(groups):
            return None
        values = _readings(groups)
        is_decimal = len(groups) == 1 and groups[0].places == 2
        is_pair = len(groups) > 1 and any(value != int(value) for value in values)
        if (is_decimal or is_pair) and values:
            topic = self._topic(first, last)
            if topic or (topic is None and self.money_is_topic):
                form = "decimal" if is_decimal else "pair"
                return _Found(values, None, first, last, form, by_earlier_topic=not topic)
            return None
        if values and self._is_directly_spoken_of(first) and self._topic(first, last) is not False:
            return _Found(_bare(values, groups), None, first, last, "bare")
        return None

    def _is_closed(self, at: int) -> bool:
        """Return whether nothing that a number counts can begin at `at`."""
        if at >= len(self.tokens):
            return True
        token = self.tokens[at]
        if token.kind == "sign":
            return token.low not in {"%", "¢", "/", "°", "x", "×"}
        return token.kind == "word" and token.low in FOLLOWS

    def _is_named(self, groups: tuple[Group, ...]) -> bool:
        """Return whether words right before a number say that it is something else."""
        first = groups[0].first
        before = self.low(first - 1)
        second = self.low(first - 2)
        if before in MONTHS or before in LABELS or before in {"#", "double", "triple"}:
            return True
        if self._is_proper(first - 1):
            return True
        if before in {"is", "of", ":", "in", "number"} and second in LABELS:
            return True
        if self.low(groups[-1].last) in MONTHS or self.low(groups[-1].last) in _CLOCK_WORDS:
            return True
        pair = [int(group.value) for group in groups[:2]]
        is_clock = len(groups) == 2 and 1 <= pair[0] <= 12 and pair[1] < 60
        if is_clock and before in _CLOCK_PREPOSITIONS and second not in _AT_A_PRICE:
            return True
        if is_clock and before == "the":
            return True
        return len(groups) == 2 and pair[0] in {18, 19, 20} and before in _YEAR_PREPOSITIONS

    def _is_proper(self, at: int) -> bool:
        """Return whether a name or a letter of one stands there: *S K five ten*, *Sky four ten*.

        The first word of a sentence is a name only in capitals.
        """
        if at < 0 or self.tokens[at].kind != "word":
            return False
        text = self.tokens[at].text
        if text in {"A", "I"} or _kind(text.lower()) or text.lower() in FOLLOWS:
            return False
        begins = at == 0 or self.tokens[at - 1].low in _SENTENCE_ENDS
        return text.isupper() or (text[:1].isupper() and not begins)

    def _is_direct(self, at: int) -> bool:
        return self.low(at) in _DIRECT

    def _is_directly_spoken_of(self, first: int) -> bool:
        """Return whether a topic word stands right before, over *is*, *of* or *comes to*."""
        at = first - 1
        if self.low(at) == ":":
            at -= 1
        steps = 0
        while self.low(at) in _COPULAS and steps < 3 and not self._is_direct(at):
            at, steps = at - 1, steps + 1
        if self.low(at) in {"will", "would"}:
            at -= 1
        if self.low(at) == "you" and self.low(at - 1) in {"charge", "charged", "owe"}:
            at -= 1
        return self._is_direct(at)

    def _topic(self, first: int, last: int) -> bool | None:
        """Return whether the nearest topic word is of money, or none where there is none."""
        near = [
            (_distance(word, 2 * step), kind)
            for step, word in enumerate(self._words_before(first), start=1)
            if (kind := _kind(word)) is not None
        ] + [
            (_distance(word, 2 * step + 1), kind)
            for step, word in enumerate(self._words_behind(last), start=1)
            if (kind := _kind(word)) is not None
        ]
        return min(near)[1] if near else None

    def _words_before(self, first: int) -> list[str]:
        """Return the words of the sentence before a number, nearest first, with a question's."""
        out: list[str] = []
        at = first - 1
        while at >= 0 and len(out) < TOPIC_BEFORE:
            token = self.tokens[at]
            if token.kind == "sign" and token.low in _SENTENCE_ENDS:
                if token.low != "?" or len(out) > 4:
                    break
            elif token.kind != "sign":
                out.append(token.low)
            at -= 1
        return out

    def _words_behind(self, last: int) -> list[str]:
        out: list[str] = []
        for token in self.tokens[last:]:
            if token.low in _SENTENCE_ENDS or len(out) == TOPIC_AFTER:
                break
            if token.kind != "sign":
                out.append(token.low)
        return out


def _plain(value: Decimal) -> Decimal:
    """Return whole units without decimals, others with two or more."""
    if value == int(value):
        return Decimal(int(value))
    return value.quantize(_CENT) if value == value.quantize(_CENT) else value.normalize()


def _distance(word: str, steps: int) -> int:
    """Return a distance in half words; a verb binds half as close: *the account I pay from is*."""
    return 2 * steps if word in _PAYING else steps


def _kind(word: str) -> bool | None:
    if word in OTHER_TOPICS:
        return False
    return True if word in TOPICS else None


def _readings(groups: tuple[Group, ...]) -> tuple[Decimal, ...]:
    """Return what numbers said one behind another may be as money, the likeliest first.

    *sixty-five fifty-two* is 65.52 or 6552; *three fifty* 350 or 3.50; *one nineteen ninety-nine*
    119.99; digits said one by one are one number.
    """
    values = [group.value for group in groups]
    kinds = [group.kind for group in groups]
    if len(groups) == 1:
        return (values[0],)
    if all(kind in {"digit", "zero"} for kind in kinds):
        return (Decimal("".join(str(int(value)) for value in values)),)
    if groups[-1].places and all(kind in {"digit", "zero"} for kind in kinds[:-1]):
        return (Decimal("".join(str(int(value)) for value in values[:-1]) + str(values[-1])),)
    *whole, cents = values
    if kinds[-1] != "two" or not all(kind == "two" for kind in kinds[1:]):
        return ()
    if kinds[0] not in {"digit", "two", "exact", "scaled"} or groups[0].places:
        return ()
    if kinds[0] in {"exact", "scaled"} and len(groups) > 2:
        return ()
    base = whole[0]
    for part in whole[1:]:
        base = base * 100 + part
    split, joined = base + cents * _CENT, base * 100 + cents
    if kinds[0] in {"exact", "scaled"}:
        return (split,)
    if len(groups) > 2:
        return (split, joined)
    return (joined, split) if kinds[0] == "digit" else (split, joined)


def _bare(values: tuple[Decimal, ...], groups: tuple[Group, ...]) -> tuple[Decimal, ...]:
    """Return the readings of a plain number: four digits may be a pair that was written as one."""
    value = values[0]
    is_run = groups[0].written and groups[0].kind == "exact" and not groups[0].places
    return (*values, value * _CENT) if is_run and 100 <= value < 10_000 else values


def _shared_scale(first: Group, second: Group) -> int:
    """Return the scale that *two or three hundred* gives its first number too."""
    if second.kind != "scaled" or second.written or first.kind not in {"digit", "two"}:
        return 1
    for scale in (1_000_000, 1000, 100):
        if second.value % scale == 0:
            return scale
    return 1
