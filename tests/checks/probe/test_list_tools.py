"""What a command answers is a list of tools, or no list at all: over a pipe as behind a URL."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp_types import ListToolsResult, Tool
from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Route

from assent.checks.probe.list_tools import NotListedError, listed_at, listed_by, listed_in, why_unlisted
from support.servers.loopback_server import serving

PROGRAM = """
import json, sys
answer = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    said = {"result": {}} if asked["method"] == "initialize" else answer
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"result": {}}, "the result of tools/list has no list of tools"),
        ({"result": {"tools": {"a": {}}}}, "the result of tools/list has no list of tools"),
        ({"result": {"tools": 3}}, "the result of tools/list has no list of tools"),
        ({"result": {"tools": [{"name": "a"}], "nextCursor": "same"}}, "tools/list has too many pages"),
        ({"error": {"code": 1, "message": "no\x1b[31m"}}, r"the server refused tools/list: no\u{1b}[31m"),
    ],
)
async def test_what_is_no_list_of_tools_is_said_and_not_taken_for_an_empty_one(
    answer: dict[str, Any], reason: str
) -> None:
    with pytest.raises(NotListedError) as told:
        await listed_by([sys.executable, "-c", PROGRAM, json.dumps(answer)], errors=sys.__stderr__ or sys.stderr)
    assert str(told.value) == f"{sys.executable} did not list its tools: {reason}"


@pytest.mark.parametrize(
    "answer", ['{"jsonrpc": "2.0", "id": %d, "result": {"tools": [', '{"id": %d, "result": {"tools": []}}']
)
async def test_an_answer_that_cannot_be_read_is_not_waited_for(answer: str) -> None:
    torn = PROGRAM.replace("print(", 'print(answer % asked["id"] if asked["method"] == "tools/list" else ')
    with pytest.raises(NotListedError, match=r"its answer to tools/list could not be read$"):
        await listed_by([sys.executable, "-c", torn, json.dumps(answer)], errors=sys.__stderr__ or sys.stderr)


async def test_the_pages_of_a_server_object_must_end() -> None:
    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="a", input_schema={"type": "object"})], next_cursor="same")

    with pytest.raises(NotListedError, match=r"^the server did not list its tools: tools/list has too many pages$"):
        await listed_in(Server("notes", on_list_tools=list_tools))


def test_an_answer_that_cannot_be_read_is_no_silence() -> None:
    assert why_unlisted(TimeoutError(), [ValueError("no message")]) == "its answer could not be read"
    assert why_unlisted(TimeoutError(), []) == "it took too long"
    assert why_unlisted(OSError("gone"), [ValueError("no message")]) == "gone"


async def test_an_address_that_sends_elsewhere_is_told() -> None:
    async with serving(Starlette(routes=[Route("/mcp", lambda _: RedirectResponse("/mcp/"), methods=["POST"])])) as url:
        with pytest.raises(NotListedError, match=r"answered 307, which is a redirect\. Name the address"):
            await listed_at(url)
