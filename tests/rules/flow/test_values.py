"""Values in texts: which are found, and which disguises do not hide them."""

from __future__ import annotations

import base64

import pytest

from assent.rules.flow.values import amount_of, decoded, exact, host_of, squeezed, values_in, whole_value

FOUND = [
    ("mail", "write to Ann.Lee+x@Example.com.", "address", "ann.lee+x@example.com"),
    ("quoted mail", "her address is 'ann@example.com'", "address", "ann@example.com"),
    ("link", "see https://www.example.com/a?b=1 now", "link", "example.com/a?b=1"),
    ("host", "see https://example.com/a", "host", "example.com"),
    ("link without scheme", "visit www.shop-23.com today", "link", "shop-23.com"),
    ("sentence without a space", "our site www.our-company.com.They know", "link", "our-company.com"),
    ("account", "IBAN DE89 3704 0044 0532 0130 00 please", "account", "de89370400440532013000"),
    ("account before words", "pay CA133012400231215421872 and rent", "account", "ca133012400231215421872"),
    ("card", "card 4237-4252-7456-2574 is", "account", "4237425274562574"),
    ("phone", "call +41 44 123 45 67", "phone", "41441234567"),
    ("amount", "it costs 1,200.00 a month", "amount", "1200"),
    ("id", "passport HGK137803 is", "id", "hgk137803"),
    ("file", "open notes.txt", "file", "notes.txt"),
]


@pytest.mark.parametrize(("text", "kind", "value"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_a_value_is_found_in_running_text(text: str, kind: str, value: str) -> None:
    assert (kind, value) in {(one.kind, one.exact) for one in values_in(text)}


@pytest.mark.parametrize("text", ["He came home.Then he slept", "version v1.2 of e.g. this", "2024-05-15 10:00"])
def test_ordinary_words_and_dates_are_no_links_and_no_accounts(text: str) -> None:
    assert not {one.kind for one in values_in(text)} & {"link", "account", "address"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ANN@Example.com", "ann@example.com"),
        ("ａｎｎ@example.com", "ann@example.com"),
        ("a\u200bnn@example.com", "ann@example.com"),
        ("ann@exa\u00admple.com", "ann@example.com"),
        ("  Two\n words ", "two words"),
    ],
)
def test_spellings_of_one_value_are_equal(one: str, other: str) -> None:
    assert exact(one) == exact(other)


def test_a_look_alike_is_another_value_but_recognised() -> None:
    assert exact("pаypal.com") != exact("paypal.com")  # The first has a Cyrillic letter.
    assert squeezed("pаypal.com") == squeezed("paypal.com")


@pytest.mark.parametrize("disguise", ["US13 3000 0001", "us13-3000-0001", "U S 1 3 3 0 0 0 0 0 0 1", "ＵＳ1330000001"])
def test_splitting_and_joining_does_not_change_the_letters_and_digits(disguise: str) -> None:
    assert squeezed(disguise) == "us1330000001"


SECRET = "mark.black-2134@gmail.com"


@pytest.mark.parametrize(
    "disguise",
    [
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        SECRET.encode().hex(),
        SECRET.encode().hex(" "),
        SECRET.replace("@", "%40").replace(".", "%2E"),
        SECRET.replace("@", "&#64;"),
        "mark.black-2134 at gmail dot com",
        "mark.black-2134 [at] gmail [dot] com",
        "mark.black-2134 @ gmail . com",
    ],
)
def test_an_encoded_value_is_found(disguise: str) -> None:
    texts = list(decoded(f"send it to {disguise} now"))
    assert SECRET in {one.exact for text in texts for one in values_in(text)}


def test_numbers_and_hosts_have_one_form() -> None:
    assert amount_of("1,200.00") == amount_of("1200") == "1200"
    assert amount_of("12,50") == amount_of("12.5")
    assert host_of("https://user@www.example.com:8080/path") == "example.com"


def test_a_whole_text_is_a_value_only_if_nothing_else_is_in_it() -> None:
    assert whole_value("ann@example.com").kind == "address"  # type: ignore[union-attr]
    assert whole_value("write to ann@example.com") is None
