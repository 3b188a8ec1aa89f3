"""Spoken amounts: tables written by hand, family by family; none is made by the code under test."""

from __future__ import annotations

from decimal import Decimal

import pytest

from inquesto_core.events.spoken_amounts import read_amounts

#: What is said, what it states; several values stand in order.
FORMS = {
    "symbol": """
        $65.52 | 65.52
        It's $65.52. | 65.52
        $ 65.52 | 65.52
        $65 | 65
        $0.99 | 0.99
        $.99 | 0.99
        $1,200 | 1200
        $1,234.56 | 1234.56
        $12,345,678.90 | 12345678.90
        $7.5 | 7.50
        US$65.52 | 65.52
        C$20 | 20
        A$19.95 | 19.95
        £105 | 105
        £1,050.25 | 1050.25
        €49.90 | 49.90
        49.90 € | 49.90
        €65,52 | 65.52
        1.234,56 € | 1234.56
        ₹500 | 500
        ¥3000 | 3000
        $65 and 52 cents | 65.52
        $2 million | 2000000
        $1.5k | 1500
        $3M | 3000000
        $40, $50 and $60 | 40 50 60
        $50-60 | 50 60
        $50 to $60 | 50 60
        ($15) | 15
        a fee of $15/month | 15
        -$20 | -20
        you'll get $5 off | 5
        $100 dollars | 100
    """,
    "code": """
        USD 65.52 | 65.52
        65.52 USD | 65.52
        GBP 20 | 20
        20 GBP | 20
        EUR 1,000 | 1000
        1000 EUR please | 1000
        Rs. 500 | 500
        Rs 1,50,000 | 150000
        rupees five hundred | 500
        AUD 12.50 | 12.50
        NZD 80 per week | 80
        CHF 15 | 15
    """,
    "whole units": """
        sixty-five dollars | 65
        sixty five dollars | 65
        65 dollars | 65
        Sixty-Five Dollars | 65
        five dollars | 5
        one dollar | 1
        a dollar | 1
        a pound | 1
        zero dollars | 0
        ten bucks | 10
        twenty quid | 20
        fifteen euros | 15
        a hundred dollars | 100
        one hundred dollars | 100
        a hundred and five pounds | 105
        one hundred five pounds | 105
        one hundred and fifteen dollars | 115
        nine hundred ninety-nine dollars | 999
        twelve hundred dollars | 1200
        fifteen hundred dollars | 1500
        twenty-five hundred dollars | 2500
        a thousand dollars | 1000
        one thousand two hundred dollars | 1200
        one thousand, two hundred dollars | 1200
        two thousand and five dollars | 2005
        twelve thousand three hundred forty-five dollars | 12345
        a hundred thousand dollars | 100000
        one million two hundred thousand dollars | 1200000
        a million dollars | 1000000
        two million pounds | 2000000
        half a million pounds | 500000
        a quarter of a million dollars | 250000
        one and a half million euros | 1500000
        a million and a half dollars | 1500000
        two and a half thousand dollars | 2500
        one point five million euros | 1500000
        5 hundred dollars | 500
        3 thousand pounds | 3000
        two lakh rupees | 200000
        three crore rupees | 30000000
        twenty Canadian dollars | 20
        fifty US dollars | 50
        twenty more dollars | 20
        one oh five dollars | 105
        one oh five pounds | 105
        three fifty dollars | 350
        three twenty-five dollars | 325
        one fifteen dollars | 115
        six five five dollars | 655
        minus twenty dollars | -20
        five hundred yen | 500
        eighty pesos | 80
        forty pounds sterling | 40
        a twenty dollar bill | 20
        a fifty-dollar late fee | 50
        1200 dollars | 1200
        1,200 dollars | 1200
        1.2 million dollars | 1200000
        I saved fifty pounds | 50
        fifty pounds of that is tax | 50
        two hundred pounds of credit | 200
        fourty dollars | 40
    """,
    "units and cents": """
        65 dollars and 52 cents | 65.52
        65 dollars 52 cents | 65.52
        sixty-five dollars and fifty-two cents | 65.52
        sixty five dollars and fifty two cents | 65.52
        sixty-five dollars, fifty-two cents | 65.52
        sixty-five dollars fifty-two | 65.52
        sixty-five dollars and fifty-two | 65.52
        65 dollars 52 | 65.52
        sixty-five dollars oh five | 65.05
        sixty-five dollars and five cents | 65.05
        one dollar and one cent | 1.01
        a dollar fifty | 1.50
        a buck fifty | 1.50
        a dollar and fifty cents | 1.50
        a dollar and a half | 1.50
        two and a half dollars | 2.50
        two dollars and a half | 2.50
        half a dollar | 0.50
        twenty pounds fifty | 20.50
        twenty pounds and fifty pence | 20.50
        five pounds ten p | 5.10
        twelve euros thirty | 12.30
        twelve euros and thirty cents | 12.30
        ten rupees and fifty paise | 10.50
        a hundred and five pounds twenty | 105.20
        one hundred fifteen dollars and seventy-five cents | 115.75
        one thousand two hundred thirty-four dollars and fifty-six cents | 1234.56
        one thousand, two hundred and thirty-four dollars and fifty-six cents | 1234.56
        sixty-five point five two dollars | 65.52
        sixty-five point five oh dollars | 65.50
        six five point five two dollars | 65.52
        nineteen point nine nine pounds | 19.99
        65.52 dollars | 65.52
        0.99 dollars | 0.99
        ninety-nine dollars ninety-nine today | 99.99
        $65 fifty-two | 65.52
        one hundred dollars and zero cents | 100
    """,
    "cents": """
        fifty cents | 0.50
        50 cents | 0.50
        ninety-nine cents | 0.99
        one cent | 0.01
        fifty pence | 0.50
        ninety-nine p | 0.99
        99p | 0.99
        50¢ | 0.50
        one penny | 0.01
        five pennies | 0.05
        seventeen point five cents per kilowatt hour | 0.175
        a hundred and fifty cents | 1.50
    """,
    "grand": """
        two grand | 2000
        a grand | 1000
        he owes me a grand for the car | 1000
        twenty grand in fees | 20000
        one and a half grand | 1500
        ten grand | 10000
        5k dollars | 5000
        5 grand | 5000
        thirty-five k dollars | 35000
    """,
    "ranges": """
        fifty to sixty dollars | 50 60
        between fifty and sixty dollars | 50 60
        between one hundred and two hundred dollars | 100 200
        twenty or thirty dollars | 20 30
        two or three hundred bucks | 200 300
        five to six thousand pounds | 5000 6000
        50-60 dollars | 50 60
        from 50 to 60 euros | 50 60
        between five and ten grand | 5000 10000
    """,
    "pairs by topic": """
        Your balance is sixty-five fifty-two. | 65.52
        your balance is sixty five fifty two | 65.52
        The total comes to sixty-five fifty-two | 65.52
        You owe sixty-five fifty-two, due on Friday. | 65.52
        sixty-five fifty-two is your balance | 65.52
        so sixty-five fifty-two is what you owe | 65.52
        I paid nineteen ninety-nine for it | 19.99
        the price was nineteen ninety-nine | 19.99
        How much is it? Sixty-five fifty-two. | 65.52
        the bill is one oh five fifty | 105.50
        the bill is one hundred and five fifty | 105.50
        your payment of one hundred twenty thirty-five went through | 120.35
        it costs one nineteen ninety-nine | 119.99
        your payment is two thirty-five fifty | 235.50
        You owe sixty-five oh two. | 65.02
        the fare is three fifty | 350
        a fee of four seventy-five applies, right | 475
        keep the added cost under one seventy-five | 175
        the minimum payment is twelve thirty-four fifty-six | 1234.56
        your bill is sixty-five fifty-two today | 65.52
        the charge, sixty-five fifty-two, is correct | 65.52
        Refund sixty-five fifty-two to my card | 65.52
        the deposit would be eighty-eight twenty | 88.20
        Could you pay sixty-five fifty-two now? | 65.52
        I see a balance of 65 52 | 65.52
        Your account ending in forty-four seventy-one has a balance of sixty-five fifty-two. | 65.52
        it's sixty-five fifty-two a month for the premium | 65.52
        the past due amount is two hundred and fourteen sixty | 214.60
        your refund is one thousand two hundred thirty-four fifty-six | 1234.56
    """,
    "decimals by topic": """
        your balance is 65.52 | 65.52
        a total of 115.00 | 115
        the bill came to 1,234.56 this time | 1234.56
        the charge is sixty-five point five two | 65.52
        you owe 12.30 and 14.50 | 12.30 14.50
    """,
    "bare by place": """
        the total is one hundred fifteen | 115
        the total is 115. | 115
        your balance is sixty-five | 65
        I owe two hundred | 200
        pay fifty now | 50
        the fee is only twenty, sir | 20
        the total comes to six thousand five hundred | 6500
        total: 80 | 80
        we charged you ninety for that | 90
    """,
}

#: Nothing of this is money.
LOOK_ALIKES = {
    "post codes": """
        my zip code is sixty-five fifty-two one
        zip nine oh two one oh
        the billing zip is six five five two oh
        the postcode on the bill is SW1A 1AA
        postal code 10001
        your bill goes to zip code sixty-five fifty-two
        ZIP: 65520, please
        area code four one five
    """,
    "counts": """
        sixty-five payments
        you have made twelve payments so far
        twenty-five items
        pay in three instalments
        your balance covers fifty-two weeks
        the bill is for two months
        three people and two bags
        I called four times about the bill
        twenty-four seven support for billing
        one thousand and one nights
        charge thirty-two fifty-amp breakers
        I pay for 2.50 gigabytes a day
        your usage was 652 kilowatt hours
        it used 65.52 kWh on this bill
        he owns two grand pianos
        my two grand children
        a 5k run
    """,
    "dates and years": """
        March twenty-fifth
        on March 25
        the bill of May twenty twenty
        25 March
        2026-03-25
        3/25/26
        the payment is due on the twenty-fifth
        due by April fifteenth
        I have paid since nineteen ninety-nine
        in twenty twenty-four
        I was born in nineteen fifty-two
        date of birth five twelve eighty-eight
        your payment date is twelve thirty-one
        in two thousand and five
        the year nineteen eighty-four
        December 31, 2025
    """,
    "times": """
        at eight fifty-five
        eight fifty-five a.m.
        8:55
        at 8:55 PM
        you can pay at nine thirty
        pay by eleven forty-five
        call about the bill before four fifteen
        nine p.m.
        the fare at eleven twenty A M
        ten thirty in the morning
        it leaves at twelve fifty
        the payment closes at five thirty p m
        nineteen hundred hours
    """,
    "phone and account numbers": """
        call me at 555-1234
        800-555-0199
        (415) 555-0199
        +1 415 555 0199
        my account number is forty-four seventy-one
        account forty-four seventy-one
        the account you pay from is forty-four seventy-one
        the card ending in twenty-two fifty
        pay with the card ending forty-four seventy-one
        my phone is five five five twelve thirty-four
        extension forty-two ten
        confirmation code Z K three F F W
        reference 4410
        order forty-four seventy-one
        invoice 6552 please
        my pin is twelve thirty-four
        case number sixty-five fifty-two
        ticket #6552
        the last four digits are sixty-five fifty-two
        policy twelve fifty is what I pay for
    """,
    "percentages": """
        sixty-five percent
        a fee of 2.50%
        the rate is twelve point five percent
        20 per cent off your bill
        three percentage points
        65.52% of the total
        the interest charged is nineteen ninety-nine percent
    """,
    "ordinals": """
        the twenty-first payment
        the 3rd bill
        my second payment
        the one hundredth
        first, second and third
        fifty-second street
    """,
    "streets and rooms": """
        twelve fifty Main Street
        65 Pound Street
        my house number is sixty-five fifty-two
        the bill for apartment twelve fifty
        suite forty-four ten
        room twelve oh five
        flight four twelve
        the fare on S K five ten is the same
        the lowest fare is Sky four ten at noon
        a fare on Charlie Romeo five twenty
        SW one seventy eight costs the same
        the one fifty is the same price
        code K seven P nine Q X
        my code is K four p n
        2e48a26e-5e88-493c-9fe0-31996e7c7f8b
        Skyway four one two
        seat twenty-one A
        highway one oh one
        gate fifty-two
        Penny Lane 20
        I pay for the house at sixty-five fifty-two Main Street
    """,
    "weights, keys, sayings": """
        ten pounds of flour
        it weighs fifty pounds
        I lost twenty pounds last year
        a bag of thirty pounds weight
        press one pound
        enter 1234 and the pound key
        that's the million dollar question
        just my two cents
        in 1080p
        my 401k
        the dollar store
        a penny for your thoughts
        a few hundred dollars
        a couple of bucks
        the temperature is sixty-five fifty-two
    """,
    "plain numbers": """
        sixty-five fifty-two
        one hundred fifteen
        6552
        65.52
        version 2.10.3
        chapter 12.50
        the score was ninety-eight ninety-five
        model 19.99
        one or two
        no
    """,
}


def _rows(table: dict[str, str]) -> list[str]:
    return [row.strip() for family in table.values() for row in family.strip().splitlines()]


def test_two_hundred_forms_and_a_hundred_look_alikes_stand_in_the_tables() -> None:
    forms, look_alikes = _rows(FORMS), _rows(LOOK_ALIKES)
    assert len(set(forms)) >= 200
    assert len(set(look_alikes)) >= 100


@pytest.mark.parametrize("row", _rows(FORMS))
def test_a_spoken_amount_is_read_right(row: str) -> None:
    text, _, wanted = row.rpartition("|")
    assert [one.value for one in read_amounts(text.strip())] == [
        Decimal(value) for value in wanted.split()
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I owe three fifty", "3.50"),
        ("I owe sixty-five fifty-two", "6552"),
        ("I owe 6552", "65.52"),
    ],
)
def test_another_reading_of_the_same_words_is_kept(text: str, value: str) -> None:
    (amount,) = read_amounts(text)
    assert Decimal(value) in amount.other_values
    assert amount.may_be(Decimal(value))
    assert not amount.may_be(Decimal(value) + 1, tolerance=Decimal("0.99"))
    assert amount.may_be(Decimal(value) + 1, tolerance=Decimal(1))


def test_a_topic_spoken_of_before_makes_a_short_answer_money() -> None:
    assert read_amounts("sixty-five fifty-two") == ()
    (amount,) = read_amounts("sixty-five fifty-two", money_is_topic=True)
    assert amount.value == Decimal("65.52")
    assert read_amounts("my zip code is sixty-five fifty-two", money_is_topic=True) == ()


def test_an_amount_has_its_place_currency_and_form() -> None:
    text = "Well, that is minus twenty Canadian dollars and 5 cents, or £3."
    first, second = read_amounts(text)
    assert text[first.start : first.end] == "minus twenty Canadian dollars and 5 cents"
    assert (first.value, first.currency, first.form) == (Decimal("-20.05"), "CAD", "unit_and_cents")
    assert (second.currency, second.form) == ("GBP", "symbol")


@pytest.mark.parametrize("text", _rows(LOOK_ALIKES))
def test_what_only_looks_like_an_amount_is_none(text: str) -> None:
    assert read_amounts(text) == ()
