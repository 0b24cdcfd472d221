"""What Assent says about itself as an OAuth client of upstreams."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

CALLBACK_PATH = "/console/connections/callback"


def client_metadata(redirect_uri: str) -> dict[str, Any]:
    """What Assent says about itself as a client."""
    native = urlsplit(redirect_uri).hostname in ("127.0.0.1", "::1", "localhost")
    return {
        "client_name": "Assent",
        "application_type": "native" if native else "web",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
