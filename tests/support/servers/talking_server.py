"""A server of the official SDK on its standard streams that talks to its client in every way both eras have."""

import sys
import warnings
from pathlib import Path

import anyio
import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPDeprecationWarning

warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
server = MCPServer("talker", version="1", log_level="ERROR")
MODERN = "2026-07-28"
URI = "note://one"
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
PROMPT = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say hello"))

Asked = str | types.InputRequiredResult


def said(answer: types.CreateMessageResult) -> str:
    return answer.content.text if isinstance(answer.content, types.TextContent) else ""


@server.tool(description="Gets a summary from the client's model.")
async def get_summary(ctx: Context) -> Asked:
    if ctx.protocol_version != MODERN:
        return said(await ctx.session.create_message([PROMPT], max_tokens=9, related_request_id=ctx.request_id))
    answer = (ctx.input_responses or {}).get("model")
    if isinstance(answer, types.CreateMessageResult):
        return said(answer)
    params = types.CreateMessageRequestParams(messages=[PROMPT], max_tokens=9)
    return types.InputRequiredResult(input_requests={"model": types.CreateMessageRequest(params=params)})


@server.tool(description="Lists the client's roots.")
async def list_client_roots(ctx: Context) -> Asked:
    if ctx.protocol_version != MODERN:
        return str((await ctx.session.list_roots()).roots[0].uri)
    answer = (ctx.input_responses or {}).get("roots")
    if isinstance(answer, types.ListRootsResult):
        return str(answer.roots[0].uri)
    return types.InputRequiredResult(input_requests={"roots": types.ListRootsRequest()})


@server.tool(description="Gets a colour from the user.")
async def get_colour(ctx: Context) -> Asked:
    if ctx.protocol_version != MODERN:
        told = await ctx.session.elicit_form("Which colour?", FORM, related_request_id=ctx.request_id)
        return f"{told.action} {(told.content or {}).get('colour')}"
    answer = (ctx.input_responses or {}).get("colour")
    if isinstance(answer, types.ElicitResult):
        return f"{answer.action} {(answer.content or {}).get('colour')}"
    params = types.ElicitRequestFormParams(message="Which colour?", requested_schema=FORM)
    return types.InputRequiredResult(input_requests={"colour": types.ElicitRequest(params=params)})


@server.tool(description="Gets a report, and says how far it is.")
async def get_report(ctx: Context) -> str:
    await ctx.info("reading")
    for done in (1, 2):
        await ctx.report_progress(done, 2)
    return "read"


@server.tool(description="Gets nothing until it is cancelled.")
async def get_nothing(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        Path(sys.argv[1]).write_text("cancelled")
        raise
    return ""


@server.tool(description="Looks at the note, which changes.")
async def get_note(ctx: Context) -> str:
    if ctx.protocol_version == MODERN:
        await ctx.notify_resource_updated(URI)
    else:
        await ctx.session.send_resource_updated(URI)
    return "changed"


@server.resource(URI, name="one", mime_type="text/plain")
def note() -> str:
    return "a note"


async def accept(_context: object, _params: object) -> types.EmptyResult:
    return types.EmptyResult()


low = server._lowlevel_server
low.add_request_handler("resources/subscribe", types.SubscribeRequestParams, accept)
low.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, accept)
low.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)

if __name__ == "__main__":
    server.run()
