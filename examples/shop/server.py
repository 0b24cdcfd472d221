"""A shop of ten tools, each under contract: every tier, every way of being asked.

Run it with `python examples/shop/server.py` (stdio) or `python examples/shop/server.py http` (port 8000).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from assent import Assent

sys.path.insert(0, str(Path(__file__).parent.parent))
from shop.tools import CALLER, stock


def build(
    store: str = "sqlite:///shop.db",
    log: Path = Path("shop.log"),
    **options: Any,
) -> tuple[MCPServer, Assent]:
    """The server and its Assent."""
    assent = Assent(store=store, stdio=CALLER, anonymous=CALLER, **options)
    server = MCPServer("shop", extensions=[assent.extension()], log_level="ERROR")
    stock(server, log)
    assent.apply(server)
    return server, assent


if __name__ == "__main__":
    over_http = sys.argv[1:] == ["http"]
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        shop, _ = build(
            os.environ.get("SHOP_STORE", f"sqlite:///{folder}/shop.db"),
            Path(os.environ.get("SHOP_LOG", f"{folder}/shop.log")),
            now=(lambda: float(os.environ["SHOP_NOW"])) if "SHOP_NOW" in os.environ else time.time,
        )
        if over_http:
            print("The shop serves at http://127.0.0.1:8000/mcp. Ctrl-C ends it.", file=sys.stderr)
        shop.run("streamable-http" if over_http else "stdio")
