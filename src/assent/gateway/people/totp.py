"""One-time codes of an authenticator app (RFC 6238: SHA-1, six digits, thirty seconds)."""

from __future__ import annotations

import base64
import hmac
import secrets
from urllib.parse import quote, urlencode

STEP = 30
DIGITS = 6
SKEW = 1
"""How many steps a phone's clock may be off, either way."""


def new_secret() -> str:
    """A secret of 160 bits, in base32 as apps read it."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code_at(secret: str, counter: int) -> str:
    mac = hmac.digest(base64.b32decode(secret), counter.to_bytes(8, "big"), "sha1")
    place = mac[-1] & 15
    number = int.from_bytes(mac[place : place + 4], "big") & 0x7FFFFFFF
    return str(number % 10**DIGITS).zfill(DIGITS)


def matching_counter(secret: str, code: str, now: float, last: int = -1) -> int | None:
    """The step whose code this is; None for a wrong one, and for one not newer than the last that was used."""
    given = code.replace(" ", "").encode("utf-8", "replace")
    current, found = int(now // STEP), None
    for counter in range(current - SKEW, current + SKEW + 1):
        if hmac.compare_digest(code_at(secret, counter).encode(), given) and counter > last:
            found = counter
    return found


def app_link(secret: str, account: str, issuer: str) -> str:
    """The address that an authenticator app on the same device opens."""
    label = quote(f"{issuer}:{account}")
    return f"otpauth://totp/{label}?" + urlencode(
        {"secret": secret, "issuer": issuer, "digits": DIGITS, "period": STEP}
    )
