"""Client requests, shared by the gateway and the upstream links."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from assent.core.call import Presence
from assent.core.principal import Principal
from assent.mcp.channel import ClientChannel
from assent.mcp.jsonrpc import RequestId
from assent.mcp.session import McpSession
from assent.web.asgi import Headers


class Era(Enum):
    """The two protocol families."""

    HANDSHAKE = "handshake"
    MODERN = "modern"


@dataclass(slots=True)
class ParsedRequest:
    """One JSON-RPC request as it was sent; nothing in it is verified yet."""

    era: Era
    version: str
    id: RequestId
    method: str
    params: dict[str, Any]
    capabilities: dict[str, Any] | None


@dataclass(slots=True)
class McpRequest:
    """One request with everything its handler may need, and the channel back to the client."""

    parsed_request: ParsedRequest
    caller: Principal
    headers: Headers
    session: McpSession | None
    reply: ClientChannel
    key: str | None = None
    mirrors: Headers = field(default_factory=list)
    presence: Presence | None = None
    """Set if the client's disconnecting is the only way to end this request; in a session it can also cancel it."""
