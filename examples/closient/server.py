"""A product catalogue by barcode: minimal annotations, one tool that records, nothing that destroys.

Run it with `python -m examples.closient.server` (stdio) or `python -m examples.closient.server http` (port 8000).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp_types import ToolAnnotations

from assent import Assent, Principal, ToolFailed

HERE = Path(__file__).parent
PRODUCTS = {"04006381333931": "Stabilo Boss", "00012345678905": "Sample soup"}
VISITOR = Principal("visitor", "agent", asks="person")
SHOPPER = Principal("shopper", "agent", scopes=frozenset({"catalog:read"}), asks="person")
KEYS = {"demo-key": SHOPPER}


def identify(ctx: ServerRequestContext[Any, Any]) -> Principal:
    """Anyone may ping; the catalogue needs a key. On stdio the caller is the process that started the server."""
    if ctx.request is None:
        return SHOPPER
    return KEYS.get(ctx.request.headers.get("x-api-key", ""), VISITOR)


def is_valid(gtin: str) -> bool:
    """Whether the last digit is the check digit of the others."""
    if not gtin.isdecimal() or len(gtin) not in (8, 12, 13, 14):
        return False
    digits = [int(digit) for digit in reversed(gtin)]
    return sum(digit * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def build(store: str = "memory://", **options: Any) -> tuple[MCPServer, Assent]:
    """The server and its Assent."""
    options = {"principal": identify, "publish_contracts": False, **options}
    assent = Assent(store=store, contracts=HERE / "contracts.yaml", profile="closient", **options)
    server = MCPServer("closient", extensions=[assent.extension()], log_level="ERROR")
    add_tools(server)
    assent.apply(server)
    return server, assent


def add_tools(server: MCPServer) -> None:
    """Register the five tools. Annotations beside a contract are allowed as long as they say the same."""

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def ping() -> dict[str, str]:
        """Say that the server is there."""
        return {"status": "ok"}

    @server.tool()
    def validate_gtin(gtin: str) -> dict[str, bool]:
        """Check the digits of a GTIN, without the catalogue."""
        return {"valid": is_valid(gtin)}

    @server.tool()
    def resolve_gtin(gtin: str) -> dict[str, str]:
        """Say where a GTIN leads."""
        return {"url": f"https://id.example.com/01/{gtin.zfill(14)}"}

    @server.tool()
    def lookup_product(gtin: str) -> dict[str, str]:
        """Look up structured product data by GTIN."""
        name = PRODUCTS.get(gtin.zfill(14))
        if name is None:
            raise ToolFailed("not_found", "There is no such product.")
        return {"gtin": gtin, "name": name}

    @server.tool()
    def generate_qr_url(gtin: str) -> dict[str, str]:
        """Build a Digital Link address for a QR code. The call is recorded."""
        return {"url": f"https://id.example.com/01/{gtin.zfill(14)}?qr=1"}


if __name__ == "__main__":
    catalogue, _ = build(os.environ.get("CLOSIENT_STORE", "memory://"))
    if sys.argv[1:] == ["http"]:
        print("The catalogue serves at http://127.0.0.1:8000/mcp. Ctrl-C ends it.", file=sys.stderr)
        catalogue.run("streamable-http", stateless_http=True, json_response=True)
    else:
        catalogue.run()
