"""How servers describe themselves: the gateway to its clients, and upstreams to the gateway."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from assent.mcp.jsonrpc import without_tasks
from assent.mcp.protocol import (
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
    SERVER_INFO_META_KEY,
)


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """Server information, capabilities and instructions, for both protocol eras."""

    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None = None

    def initialize_result(self, version: str) -> bytes:
        result = {"protocolVersion": version, "capabilities": self.capabilities, "serverInfo": self.info}
        return orjson.dumps(self._with_instructions(result))

    def discover_result(self) -> bytes:
        result = {
            "resultType": "complete",
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": self.capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {SERVER_INFO_META_KEY: self.info},
        }
        return orjson.dumps(self._with_instructions(result))

    def _with_instructions(self, result: dict[str, Any]) -> dict[str, Any]:
        return result if self.instructions is None else {**result, "instructions": self.instructions}


@dataclass(frozen=True, slots=True)
class Described:
    """An upstream's description of itself, and the newest revision that both sides support."""

    version: str
    info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str | None
    is_modern: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_modern", self.version in MODERN_PROTOCOL_VERSIONS)


def initialize_params(capabilities: dict[str, Any], client_info: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": capabilities,
        "clientInfo": client_info,
    }


def described_by_discovery(result: dict[str, Any]) -> Described | None:
    """The description in the result of `server/discover`; None if the server supports only the handshake."""
    versions, meta = result.get("supportedVersions"), result.get("_meta")
    if not isinstance(versions, list) or LATEST_MODERN_VERSION not in versions:
        return None
    info = meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
    return described_by(LATEST_MODERN_VERSION, info, result)


def described_by(version: str, info: Any, result: dict[str, Any]) -> Described:
    capabilities, instructions = result.get("capabilities"), result.get("instructions")
    return Described(
        version,
        info if isinstance(info, dict) else {},
        without_tasks(capabilities) if isinstance(capabilities, dict) else {},
        instructions if isinstance(instructions, str) else None,
    )
