"""The same shop of ten tools on FastMCP 4.

Run it with `python examples/shop/fastmcp_server.py` (stdio), or with `http` after it (port 8000).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fastmcp import FastMCP

from assent.fastmcp import Assent

sys.path.insert(0, str(Path(__file__).parent.parent))
from shop.tools import CALLER, stock


def build(
    store: str = "sqlite:///shop.db",
    log: Path = Path("shop.log"),
    **options: Any,
) -> tuple[FastMCP, Assent]:
    """The server and its Assent."""
    assent = Assent(store=store, stdio=CALLER, anonymous=CALLER, **options)
    server: FastMCP = FastMCP("shop")
    stock(server, log)
    assent.apply(server)
    return server, assent


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        shop, _ = build(
            os.environ.get("SHOP_STORE", f"sqlite:///{folder}/shop.db"),
            Path(os.environ.get("SHOP_LOG", f"{folder}/shop.log")),
            now=(lambda: float(os.environ["SHOP_NOW"])) if "SHOP_NOW" in os.environ else time.time,
        )
        if sys.argv[1:] == ["http"]:
            print("The shop serves at http://127.0.0.1:8000/mcp. Ctrl-C ends it.", file=sys.stderr)
            shop.run("http", port=8000, show_banner=False)
        else:
            shop.run("stdio", show_banner=False)
