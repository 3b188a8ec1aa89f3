"""The words that decide whether a number is money: units, topics, and what speaks against it.

English. Tables only; `inquesto_core.events.spoken_amounts` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CODES",
    "FOLLOWS",
    "LABELS",
    "MONTHS",
    "NATIONS",
    "OTHER_TOPICS",
    "SYMBOLS",
    "TOPICS",
    "UNITS",
    "Unit",
    "word_set",
]


@dataclass(frozen=True, slots=True)
class Unit:
    """A word for money: its currency where the word tells it, and how many make or divide one.

    Parameters
    ----------
    currency : str or None
        ISO 4217; none where the word leaves it open (*cents*, *grand*, *pesos*).
    times : int
        Whole units in one: 1000 for *grand*.
    minor : bool
        Whether it is a hundredth.
    """

    currency: str | None
    times: int = 1
    minor: bool = False


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text that is nothing but words."""
    return frozenset(words.split())


def _all(words: str, unit: Unit) -> dict[str, Unit]:
    return dict.fromkeys(words.split(), unit)


UNITS: dict[str, Unit] = {
    **_all("dollar dollars buck bucks", Unit("USD")),
    **_all("pound pounds quid sterling", Unit("GBP")),
    **_all("euro euros", Unit("EUR")),
    **_all("rupee rupees", Unit("INR")),
    **_all("yen", Unit("JPY")),
    **_all("yuan renminbi", Unit("CNY")),
    **_all("shekel shekels", Unit("ILS")),
    **_all("naira", Unit("NGN")),
    **_all("baht", Unit("THB")),
    **_all("ringgit", Unit("MYR")),
    **_all("zloty zlotys", Unit("PLN")),
    **_all("dirham dirhams riyal riyals peso pesos franc francs kroner kronor krona", Unit(None)),
    **_all("grand k", Unit(None, times=1000)),
    **_all("cent cents ¢", Unit(None, minor=True)),
    **_all("penny pennies pence p", Unit("GBP", minor=True)),
    **_all("paise", Unit("INR", minor=True)),
}

SYMBOLS: dict[str, str] = {"$": "USD", "£": "GBP", "€": "EUR", "₹": "INR", "¥": "JPY", "₩": "KRW"}

#: Upper case only.
CODES = word_set(
    "USD GBP EUR INR JPY CNY AUD CAD NZD CHF SEK NOK DKK PLN CZK HUF MXN BRL ZAR SGD HKD AED"
    " SAR ILS TRY KRW THB MYR PHP IDR NGN KES EGP RON BGN RMB"
)

#: A nation before a unit, or letters before a dollar sign.
NATIONS: dict[str, dict[str, str]] = {
    "USD": {"us": "USD", "u.s": "USD", "american": "USD", "australian": "AUD", "canadian": "CAD",
            "singapore": "SGD", "a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "nz": "NZD",
            "hk": "HKD", "s": "SGD"},
    "GBP": {"british": "GBP", "english": "GBP", "egyptian": "EGP"},
    "INR": {"indian": "INR", "pakistani": "PKR"},
    "": {"mexican": "MXN", "philippine": "PHP", "swiss": "CHF", "swedish": "SEK", "danish": "DKK",
         "norwegian": "NOK"},
}  # fmt: skip

#: Near a number without a unit they make it money, if no word of `OTHER_TOPICS` is nearer.
TOPICS = word_set(
    "amount amounts balance balances bill bills billed total totals totaling totalling subtotal"
    " owe owes owed owing pay pays paid paying payment payments repay repayment installment"
    " installments instalment instalments charge charges charged cost costs costing price prices"
    " priced pricing fee fees fare fares refund refunds refunded due overdue arrears deposit"
    " deposits deposited credit credited debit debited discount premium premiums rent salary"
    " spend spent budget tax taxes tip money quote quoted copay deductible withdrawal withdrew"
    " much transfer transferred difference surcharge penalty rate purchase worth"
)

OTHER_TOPICS = word_set(
    "account number numbers code codes zip postcode postal phone telephone mobile cell extension"
    " ext ending ends digits digit year years born birth birthday birthdate date dates day days"
    " reading readings flight pin id serial tracking street avenue road drive lane boulevard"
    " address apartment suite room house building gate bus train route highway bible score"
    " temperature degrees age aged hour hours clock minutes appointment card version"
    " model channel page chapter section percent per-cent weight"
)

#: Directly before a number they name it: *order 4471*.
LABELS = word_set(
    "order invoice policy claim ticket case reference ref confirmation account number no code zip"
    " postcode extension ext ending flight room suite apartment apt unit gate terminal channel"
    " page chapter section step option line route highway interstate bus train pin id serial"
    " version model area box card seat row level floor"
)

MONTHS = word_set(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec"
)

#: What may stand behind a number that is money without its unit; anything else is counted by it.
FOLLOWS = word_set(
    "a an the this that these those my your his her its our their it i you we they he she is was"
    " are were be been will would can could should shall may might must has have had do does did"
    " and or but so because if when while as than then though although unless until at by for"
    " from in into of off on onto out over to toward towards under up with without within before"
    " after since between per plus minus including excluding total altogether all both each even"
    " flat exactly today tomorrow yesterday now tonight later already still yet again right okay"
    " ok yes no not please thanks thank sir ma'am madam sorry due owed owing outstanding overdue"
    " remaining left monthly weekly yearly annually every more less extra back instead which who"
    " what where how why let there here just only also too well um uh er usd gbp eur refund"
    " balance payment bill charge fee deposit immediately sounds seems looks comes makes covers"
    " goes gets brings correct applies applied applying went came got posted failed cleared"
)
