"""Requests as clients sent them, shared by the gateway and the links to upstreams."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from assent.core.call import Presence
from assent.mcp.channel import ClientChannel
from assent.mcp.jsonrpc import RequestId
from assent.mcp.session import McpSession
from assent.web.asgi import Headers


class Era(Enum):
    HANDSHAKE = "handshake"
    MODERN = "modern"


@dataclass(slots=True)
class ParsedRequest:
    """One JSON-RPC request as it was sent; nothing in it is believed yet."""

    era: Era
    version: str
    id: RequestId
    method: str
    params: dict[str, Any]
    capabilities: dict[str, Any] | None


@dataclass(slots=True)
class McpRequest:
    """One request with everything its answer may need, and the way back to the caller."""

    parsed_request: ParsedRequest
    caller: Hashable
    headers: Headers
    session: McpSession | None
    reply: ClientChannel
    key: str | None = None
    mirrors: Headers = field(default_factory=list)
    presence: Presence | None = None
    """The caller's, where its leaving is all that could end this request: within a session it can be cancelled too."""
