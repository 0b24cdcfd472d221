"""What Assent says about itself as an OAuth client of upstreams."""

from __future__ import annotations

from typing import Any

CALLBACK_PATH = "/console/connections/callback"


def client_metadata(redirect_uri: str) -> dict[str, Any]:
    """What Assent says about itself as a client."""
    return {
        "client_name": "Assent",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
