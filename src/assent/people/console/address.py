"""The address under which a person's browser knows the console."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from assent.people.console.page import PageRequest


def address_of(page: PageRequest) -> str:
    """Scheme and host of the console: `public_url`, or the name of this machine that the browser used.

    The gateway's host check has refused every other name.
    """
    public, host = page.context.public_url().rstrip("/"), page.request.headers["host"].lower()
    parts = urlsplit(public)
    return f"{parts.scheme}://{parts.netloc}" if host == parts.netloc.lower() else f"http://{host}"


def passkey_domain(page: PageRequest) -> str | None:
    """The domain that passkeys belong to; None where the console is open under a bare address, which has none."""
    host = urlsplit(address_of(page)).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return None
