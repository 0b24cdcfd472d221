"""Does what the page on FastMCP shows run?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fastmcp import Client

PAGE = (Path(__file__).parents[2] / "docs" / "fastmcp.md").read_text("utf-8")


async def test_the_server_shown_lists_its_tool_with_its_contract() -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shown: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "fastmcp.md", "exec", dont_inherit=True), shown)
    async with Client(shown["server"]) as client:
        [tool] = await client.list_tools()
        refused = await client.call_tool_mcp("place_order", {"item": "print"})
    assert (tool.meta or {})["dev.assent/contract"]["tier"] == "external_spend"
    assert (refused.meta or {})["dev.assent/problem"]["code"] == "confirm.approval_pending"
