"""Finds secrets by the name in front of them: `DB_PASSWORD=...`, `pwd: ...`, `Authorization: Basic ...`."""

from __future__ import annotations

import base64
import binascii
import re

_PASSWORDS = (
    r"pass(?:word|wd|phrase|code|wort)|(?<![a-z])(?:pwd|pass)|(?:db|user|admin|root|mail|ftp|smtp|ssh|sql)(?:pwd|pass)"
)
_KEYS = (
    r"secret|token|credentials?"
    r"|(?:api|access|private|auth|signing|encryption|master|account|shared|secret|session|service|license|webhook)[_-]?key"
)
_SUFFIX = r"(?:[_-]?(?:key|base|value|prod|production|live|test|dev|staging|old|new|\d{1,3}))?"
# Behind the name: a sign, or the end of a tag.
_SIGN = r"[\"'`\]\\]{0,4}(?:\s{0,4}(?:=>|:=|[:=])\s{0,4}[\"'`\\]{0,4}|>)"
_OPTION = r"|(?<!\S)--?[a-z-]{0,30}(?:%s)\s{1,4}[\"']?(?!-)"
_SPOKEN = r"|\bidentified\s{1,4}by\s{1,4}'|\bpassword\s{1,4}'|\blogin\s\S{1,100}\s{1,4}password\s{1,4}"
_WORD = r"[^\s\"'`,;&<>\\]"
# In quotes, or without a blank. Letters alone count only where nothing follows: else they may be the next word.
_VALUE = (
    r"((?<=[\"'`])[^\"'`\r\n\\]{4,200}(?=[\"'`\\])"
    rf"|{_WORD}{{0,200}}[^\s\"'`,;&<>\\A-Za-z]{_WORD}{{0,200}}"
    r"|[A-Za-z]{4,200}(?=\s{0,4}(?:[\r\n\"'`,;&<>)\]}\\]|\Z)))"
)
PASSWORD = rf"(?:(?:{_PASSWORDS}){_SUFFIX}{_SIGN}{_OPTION % _PASSWORDS}{_SPOKEN}){_VALUE}"
NAMED_KEY = rf"(?:(?:{_KEYS}){_SUFFIX}{_SIGN}{_OPTION % _KEYS}){_VALUE}"
BASIC = r"\bbasic\s{1,4}([A-Za-z0-9+/_-]{6,4000}={0,2})"
COMMAND = r"(?<!\S)(?:-u|--user)[\s=]{1,4}[\"']?[^\s:\"']{1,100}:([^\s\"']{4,200})"
_BLANKS = r"your|my|the|an?|some|enter|insert|dummy|sample|placeholder|new|old|api|secret|access|auth|client|user|db"
_PLACEHOLDER = re.compile(
    r"[*.x\u2022_-]+|\$.*|<.*|\{.*|%.*|\[.*"
    rf"|(?:(?:{_BLANKS})[-_ ]?)*(?:password|passwd|pwd|token|key|secret|value|here)?(?:[-_ ]?here)?"
    r"|null|none|nil|true|false|undefined|required|optional|string|text|str|bytes|int|char|varchar|hidden|redacted"
    r"|masked|removed|empty|unknown|unset|missing|invalid|wrong|incorrect|expired|valid|changed|reset|yes|no|on|off"
    r"|basic|bearer|digest|type|default|env|file|prompt|input|hash(?:ed)?|bcrypt|sha\d*|md5|weak|strong|medium",
    re.IGNORECASE | re.DOTALL,
)
_EXPRESSION = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+[\[?]?|.*\w\(.*|[~/.\\].*|[A-Za-z]:[\\/].*|[a-z]+://.*", re.DOTALL
)


def is_password(value: str) -> bool:
    """Whether the text behind a password's name is one: not a placeholder, a path or a piece of a program."""
    plain = value.rstrip(".)]}!?:").strip()
    if " " in plain and all(word.strip(".,;:!?").isalpha() for word in plain.split()):
        return False  # A sentence, such as a label.
    return len(plain) >= 4 and not _PLACEHOLDER.fullmatch(plain) and not _EXPRESSION.fullmatch(plain)


def is_named_key(value: str) -> bool:
    """Whether the text behind the name of a key or token is one: longer than a word, and no number or date."""
    plain = value.rstrip(".)]}!?:")
    has_sign = any(not character.isalpha() for character in plain) or not (plain.islower() or plain.istitle())
    return is_password(plain) and len(plain) >= 8 and has_sign and not re.fullmatch(r"[\d.,:/T+Z-]{0,32}", plain)


def is_command_password(value: str) -> bool:
    """Whether what stands behind a name and a colon is a password, not a number of a group or a port."""
    return is_password(value) and not value.isdecimal()


def is_basic(value: str) -> bool:
    """Whether a text is a name and a password in base64."""
    packed = value.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return b":" in base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
