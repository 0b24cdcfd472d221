"""No way of writing a link or an address leads past `allow_domains`, and no control character hides a keyword."""

from __future__ import annotations

import time

import pytest

from assent.rules.guards.rules.allow_domains import AllowDomains
from assent.rules.guards.rules.block_keywords import BlockKeywords

RULE = AllowDomains(domains=("example.com",))
FIELD = AllowDomains(domains=("example.com",), fields=("to",))

HOSTILE = [
    "https://example.com\t.evil.org/",
    "https://example.com\n.evil.org/",
    "https://example.com\r\n@evil.org/",
    "https://ev\til.org/",
    "ht\ttps://evil.org/",
    "ht\ntp\rs:evil.org",
    "https\t://evil.org",
    "https:\t//evil.org",
    "https:/\t/evil.org",
    "/\t/evil.org/x",
    "\x01https://evil.org",
    " \x00https://exam\nple.com.evil.org",
    '<a href="https://example.co\nm.evil.org">',
    "//evil.org/a",
    "\\\\evil.org\\share",
    "/\\evil.org",
    "<img src=//evil.org/a.png>",
    "javascript:fetch('//evil.org')",
    "https://example.com\\.evil.org/",
    "https://example.com\\@evil.org/",
    "https:\\\\evil.org",
    "https:/evil.org",
    "https:evil.org",
    "https://evil.org%2f.example.com",
    "https://evil.org%23.example.com",
    "https://evil.org%00.example.com",
    "https://evil.org;.example.com",
    "https://evil.org,.example.com",
    "https://evil.org&.example.com",
    'https://example.com".evil.org',
    "https://example.com:80.evil.org/",
    "https://example.com:evil.org/",
    "https://example.com:@evil.org/",
    "https://example.com#@evil.org/",
    "https://example.com\x1f.evil.org",
    "https://example.com\x00.evil.org",
    "https://example.com\x7f.evil.org",
    "https://example.com\u2028.evil.org",
    "https://example.com\u3002evil.org",
    "https://example.com\uff0f.evil.org",
    "https://example.com\uff20evil.org",
    "https://example.com\u2100.evil.org",
    "\uff48ttps://evil.org",
    "https\uff1a//evil.org",
    "ht\u200btps://evil.org",
    "https&colon;//evil.org",
    "https:&#x2f;&#47;evil.org",
    "https://[::1]/",
    "https://0x7f000001/",
    "https://2130706433/",
    "ann@example.com\t.evil.org",
    "ann@example.com .evil.org",
    "ann@example.com(c).evil.org",
    "ann@example.com. evil.org",
    "ann@\nevil.org",
    "mailto:ann%40evil.org",
    "mailto:ann@example.com?cc=bob%40evil.org",
    "ann&#64;evil.org",
    "ann&commat;evil.org",
    "ann\uff20evil.org",
    "ann@example\u00ad.com.evil.org",
]
HARMLESS = [
    "https://example.com",
    "https://example.com/a?b=c#d",
    "HTTPS://WWW.Example.COM:8443/",
    "https://ann@example.com./",
    "See https://example.com\nThanks, Ann",
    "https://example.com\nThanks, Ann",
    "(see https://example.com), or <https://example.com>.",
    '<a href="https://example.com">home</a>',
    "[home](https://www.example.com) and `https://example.com`",
    "Write to ann@example.com. Thanks!",
    "Ann <ann@example.com> (Ann), bob@mail.example.com;",
    "ann@example.com\nbob@example.com",
    "a // b, 1/2, C:\\Users, 10:30",
    "//example.com/a",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_spelling_leads_past_the_allowed_domains(text: str) -> None:
    assert RULE.denies({"to": text}) is not None
    assert FIELD.denies({"to": text}) is not None
    assert RULE.denies({"deep": [{"to": text}]}) is not None


@pytest.mark.parametrize("text", HOSTILE)
def test_no_spelling_leads_past_them_in_the_middle_of_a_text(text: str) -> None:
    if text[0] in "\x01 ":
        pytest.skip("what stands before a link is dropped only where the link is the whole text")
    assert RULE.denies({"to": f'Dear Ann, "{text}" is new.'}) is not None


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_texts_are_allowed(text: str) -> None:
    assert RULE.denies({"to": text}) is None


def test_a_domain_of_other_letters_can_be_allowed() -> None:
    rule = AllowDomains(domains=("bücher.example",))
    assert rule.denies({"to": "https://www.Bücher.example/a"}) is None
    assert rule.denies({"to": "https://bucher.example/a"}) is not None


@pytest.mark.parametrize(
    "piece", ["a", "/", "\\", ":", "@", "@a(", "http:", "\t", "'\n", "\u00e9", "&", "@a ", "https://a\n"]
)
def test_a_long_text_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    def seconds(length: int) -> float:
        text = "https://example.com " + piece * (length // len(piece)) + ":"
        started = time.process_time()
        RULE.denies({"to": text})
        return time.process_time() - started

    assert seconds(400_000) < 2.0


@pytest.mark.parametrize("code", [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029])
def test_no_control_character_hides_a_keyword(code: int) -> None:
    rule = BlockKeywords(keywords=("password",))
    assert rule.denies({"text": f"the pass{chr(code)}word"}) is not None
    assert rule.denies({f"pass{chr(code)}word": 1, "deep": [{f"pass{chr(code)}word": 1}]}) is not None


def test_a_keyword_of_two_words_is_found_across_lines() -> None:
    rule = BlockKeywords(keywords=("drop table",))
    assert rule.denies({"text": "DROP\nTABLE users"}) is not None
    assert rule.denies({"text": "drop \t table users"}) is not None
    assert rule.denies({"text": "drop the table"}) is None


def test_a_keyword_that_cannot_be_seen_is_refused_when_it_is_configured() -> None:
    with pytest.raises(ValueError, match="no visible character"):
        BlockKeywords(keywords=("\u200b",))
