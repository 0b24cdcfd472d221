"""Which bytes stand for a JSON value, whoever writes it? (RFC 8785)"""

import re

import orjson
import rfc8785

STRICT = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
# What orjson writes exactly as RFC 8785 does: no fractions, exponents or null (it writes NaN so), only ASCII.
_SAME = re.compile(rb'(?:[\[\]{},:0-9-]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|true|false)*+')


class NotCanonical(ValueError):
    """A value that has no canonical JSON."""


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of a JSON value; `bytes` are taken to be such bytes already."""
    if isinstance(value, bytes):
        return value
    try:
        fast = orjson.dumps(value, option=STRICT)
        if fast.isascii() and _SAME.fullmatch(fast):
            return fast
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (orjson.JSONEncodeError, rfc8785.CanonicalizationError, RecursionError, TypeError) as error:
        raise NotCanonical(str(error)) from error
