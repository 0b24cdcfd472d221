"""The refusal of tokens while the identity provider does not answer."""

from __future__ import annotations

import logging
import time
from urllib.parse import urlsplit

from assent.core.outcome import Refusal

logger = logging.getLogger(__name__)

LOGGED_EVERY = 30.0
_logged: dict[str, float] = {}


def provider_down(url: str, what: str, why: str) -> Refusal:
    """The refusal for callers; the log gets the reason, at most twice a minute for each provider."""
    host, now = urlsplit(url).netloc, time.monotonic()
    if now - _logged.get(host, float("-inf")) > LOGGED_EVERY:
        _logged[host] = now
        logger.error("the identity provider %s does not answer: %s: %s. Tokens cannot be checked", host, what, why)
    detail = f"The identity provider {host} does not answer, so the token cannot be checked. Nothing has run."
    return Refusal("authenticate.provider_down", detail)
