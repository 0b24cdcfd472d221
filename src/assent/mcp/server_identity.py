"""The name, version and capabilities that the gateway presents to clients."""

from dataclasses import dataclass
from typing import Any

import orjson

from assent.mcp.protocol import MODERN_PROTOCOL_VERSIONS, SERVER_INFO_META_KEY


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
