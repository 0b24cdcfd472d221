"""The reference upstream: an official SDK server with everything the conformance suite looks for.

Run it alone: `python -m conformance.upstream` (with `tests` on the path); it prints its port.
"""

import asyncio
import base64
import json
import struct
import warnings
import zlib
from collections import OrderedDict
from typing import Annotated, Any

import mcp_types as types
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from pydantic import BaseModel, Field
from starlette.applications import Starlette

from support.processes.servers import run_app

# Logging and sampling are deprecated in the newest revision, and tested in the older ones.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning)

_HINT = CacheHint(ttl_ms=1000, scope="public")
server = MCPServer(
    "conformance-upstream",
    version="1.0.0",
    log_level="ERROR",
    cache_hints={
        "tools/list": _HINT,
        "prompts/list": _HINT,
        "resources/list": _HINT,
        "resources/templates/list": _HINT,
        "resources/read": _HINT,
    },
)


def _png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _wav() -> bytes:
    """Two samples of silence."""
    samples = b"\x00\x00\x00\x00"
    layout = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    body = b"WAVEfmt " + layout + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


PNG = base64.b64encode(_png()).decode()
WAV = base64.b64encode(_wav()).decode()


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


# Tools that return content


@server.tool(description="Returns one text block.")
def test_simple_text() -> types.CallToolResult:
    return types.CallToolResult(content=[text("This is a simple text response for testing.")])


@server.tool(description="Returns one image.")
def test_image_content() -> types.CallToolResult:
    return types.CallToolResult(content=[types.ImageContent(type="image", data=PNG, mime_type="image/png")])


@server.tool(description="Returns one sound.")
def test_audio_content() -> types.CallToolResult:
    return types.CallToolResult(content=[types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")])


@server.tool(description="Returns an embedded resource.")
def test_embedded_resource() -> types.CallToolResult:
    resource = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return types.CallToolResult(content=[resource])


@server.tool(description="Returns text, an image and a resource.")
def test_multiple_content_types() -> types.CallToolResult:
    return types.CallToolResult(
        content=[
            text("Multiple content types test:"),
            types.ImageContent(type="image", data=PNG, mime_type="image/png"),
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    )


@server.tool(description="Always fails.")
def test_error_handling() -> str:
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool(description="Has an argument that is mirrored in a header.")
def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    return f"region {region}"


@server.tool(description="Tool with JSON Schema 2020-12 features")
def json_schema_2020_12_tool(name: str = "", email: str = "", phone: str = "") -> str:
    return f"{name} {email} {phone}"


_ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
_RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": _ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
server._tool_manager._tools["json_schema_2020_12_tool"].parameters = _RICH_SCHEMA


# Tools that talk while they work


@server.tool(description="Sends three log messages.")
async def test_tool_with_logging(ctx: Context) -> str:
    await ctx.info("Tool execution started")
    await asyncio.sleep(0.05)
    await ctx.info("Tool processing data")
    await asyncio.sleep(0.05)
    await ctx.info("Tool execution completed")
    return "logged"


@server.tool(description="Logs only where the caller asked for it.")
async def test_logging_tool(ctx: Context) -> str:
    await ctx.info("a message nobody may see")
    return "done"


@server.tool(description="Reports progress three times.")
async def test_tool_with_progress(ctx: Context) -> str:
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100, f"{progress} of 100")
        await asyncio.sleep(0.05)
    return "finished"


@server.tool(description="Closes its stream in the middle; the client resumes.")
async def test_reconnection(ctx: Context) -> str:
    await asyncio.sleep(0.05)  # let the stream begin
    await ctx.close_sse_stream()
    await asyncio.sleep(0.1)
    return "resumed"


# Tools that ask the client on the open stream (handshake era)


@server.tool(description="Asks the client's model.")
async def test_sampling(prompt: str, ctx: Context) -> str:
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise ToolError("the client does not support sampling")
    question = types.SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([question], max_tokens=100, related_request_id=ctx.request_id)
    words = answer.content.text if isinstance(answer.content, types.TextContent) else str(answer.content)
    return f"LLM response: {words}"


async def _ask(ctx: Context, message: str, properties: dict[str, Any], required: list[str]) -> types.ElicitResult:
    schema = {"type": "object", "properties": properties, "required": required}
    return await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)


@server.tool(description="Asks the user for a name and an address.")
async def test_elicitation(message: str, ctx: Context) -> str:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = await _ask(ctx, message, properties, ["username", "email"])
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


@server.tool(description="Asks with a default for every primitive type.")
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answer = await _ask(ctx, "Please confirm your details", properties, [])
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


def _titled(kind: str) -> list[dict[str, str]]:
    names = ("First", "Second", "Third")
    return [{"const": f"value{n}", "title": f"{name} {kind}"} for n, name in enumerate(names, 1)]


@server.tool(description="Asks with every kind of enumeration.")
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    options = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    }
    answer = await _ask(ctx, "Please choose", properties, [])
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


# Tools that ask by returning (modern era)


def question(message: str, **properties: Any) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


def sample(words: str, limit: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=limit))


def need(requests: types.InputRequests, state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def accepted(ctx: Context, key: str) -> dict[str, Any] | None:
    answer = (ctx.input_responses or {}).get(key)
    if isinstance(answer, types.ElicitResult) and answer.action == "accept" and answer.content is not None:
        return dict(answer.content)
    return None


STRING = {"type": "string"}


@server.tool(description="Asks for a name by returning.")
async def test_input_required_result_elicitation(ctx: Context) -> str | types.InputRequiredResult:
    content = accepted(ctx, "user_name")
    if content is None or not isinstance(content.get("name"), str):
        return need({"user_name": question("What is your name?", name=STRING)})
    return f"Hello, {content['name']}!"


@server.tool(description="Asks a model by returning.")
async def test_input_required_result_sampling(ctx: Context) -> str | types.InputRequiredResult:
    answer = (ctx.input_responses or {}).get("capital_question")
    if not isinstance(answer, types.CreateMessageResult):
        return need({"capital_question": sample("What is the capital of France?", 100)})
    return f"The model said: {answer.content.text if isinstance(answer.content, types.TextContent) else ''}"


@server.tool(description="Asks for roots by returning.")
async def test_input_required_result_list_roots(ctx: Context) -> str | types.InputRequiredResult:
    answer = (ctx.input_responses or {}).get("client_roots")
    if not isinstance(answer, types.ListRootsResult):
        return need({"client_roots": types.ListRootsRequest()})
    return "Roots: " + ", ".join(str(root.uri) for root in answer.roots)


@server.tool(description="Round-trips its state.")
async def test_input_required_result_request_state(ctx: Context) -> str | types.InputRequiredResult:
    if accepted(ctx, "confirm") is None or ctx.request_state != "asked":
        return need({"confirm": question("Please confirm", ok={"type": "boolean"})}, "asked")
    return "state-ok"


@server.tool(description="Asks three things at once.")
async def test_input_required_result_multiple_inputs(ctx: Context) -> str | types.InputRequiredResult:
    if not {"user_name", "greeting", "client_roots"} <= set(ctx.input_responses or {}):
        requests: types.InputRequests = {
            "user_name": question("What is your name?", name=STRING),
            "greeting": sample("Generate a greeting", 50),
            "client_roots": types.ListRootsRequest(),
        }
        return need(requests, "three")
    return "all three answered"


@server.tool(description="Asks twice, one after the other.")
async def test_input_required_result_multi_round(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.request_state is None:
        return need({"step1": question("Step 1: What is your name?", name=STRING)}, "round-1")
    if ctx.request_state == "round-1":
        name = (accepted(ctx, "step1") or {}).get("name", "")
        return need({"step2": question("Step 2: What is your favorite color?", color=STRING)}, f"round-2:{name}")
    color = (accepted(ctx, "step2") or {}).get("color", "")
    return f"{ctx.request_state.removeprefix('round-2:')} likes {color}"


@server.tool(description="Refuses a state it did not write.")
async def test_input_required_result_tampered_state(ctx: Context) -> str | types.InputRequiredResult:
    if ctx.request_state is None:
        return need({"confirm": question("Please confirm", ok={"type": "boolean"})}, "sealed")
    return "untouched"


@server.tool(description="Asks only what the client can answer.")
async def test_input_required_result_capabilities(ctx: Context) -> str | types.InputRequiredResult:
    capabilities = ctx.client_capabilities or types.ClientCapabilities()
    requests: types.InputRequests = {}
    if capabilities.sampling is not None:
        requests["model"] = sample("Say hello", 20)
    if capabilities.elicitation is not None:
        requests["user"] = question("Say hello", hello=STRING)
    if not requests or ctx.input_responses:
        return "nothing to ask"
    return need(requests)


@server.tool(description="Needs a client that can sample.")
async def test_missing_capability(ctx: Context) -> str:
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "The client must support sampling", data)
    return "capable"


@server.tool(description="Streams progress, then asks by returning.")
async def test_streaming_elicitation(ctx: Context) -> str | types.InputRequiredResult:
    await ctx.report_progress(1, 2)
    if accepted(ctx, "answer") is None:
        return need({"answer": question("Go on?", go=STRING)})
    return "went on"


@server.tool(description="Changes the list of tools.")
async def test_trigger_tool_change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    return "tools changed"


@server.tool(description="Changes the list of prompts.")
async def test_trigger_prompt_change(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    return "prompts changed"


# Resources


@server.resource("test://static-text", name="static-text", description="A text.", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", name="static-binary", description="An image.", mime_type="image/png")
def static_binary() -> bytes:
    return _png()


@server.resource("test://watched-resource", name="watched", description="Watched.", mime_type="text/plain")
def watched() -> str:
    return "watched"


@server.resource("test://template/{id}/data", name="template", description="By id.", mime_type="application/json")
def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"}, separators=(",", ":"))


async def _accept(_ctx: Any, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


_low = server._lowlevel_server
_low.add_request_handler("resources/subscribe", types.SubscribeRequestParams, _accept)
_low.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, _accept)
_low.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _accept)


# Prompts


@server.prompt(description="A prompt without arguments.")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@server.prompt(description="A prompt with two arguments.")
def test_prompt_with_arguments(
    arg1: Annotated[str, Field(description="First test argument")],
    arg2: Annotated[str, Field(description="Second test argument")],
) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt(description="A prompt that embeds a resource.")
def test_prompt_with_embedded_resource(
    resourceUri: Annotated[str, Field(description="The resource to embed")],
) -> list[UserMessage]:
    resource = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]


@server.prompt(description="A prompt with an image.")
def test_prompt_with_image() -> list[UserMessage]:
    image = types.ImageContent(type="image", data=PNG, mime_type="image/png")
    return [UserMessage(image), UserMessage("Please analyze the image above.")]


@server.prompt(description="A prompt that asks for its context.")
async def test_input_required_result_prompt(ctx: Context) -> str | types.InputRequiredResult:
    content = accepted(ctx, "user_context")
    if content is None:
        return need({"user_context": question("What context should the prompt use?", context=STRING)})
    return f"Use this context: {content.get('context')}"


@server.completion()
async def complete(_ref: Any, argument: types.CompletionArgument, _context: Any) -> types.Completion:
    cities = ["paris", "park", "party"]
    values = [city for city in cities if city.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), has_more=False)


class Echo(BaseModel):
    """What `echo` gives back."""

    text: str
    times: int = 1


@server.tool(description="Gives back what it is given.")
def echo(text: str, times: int = 1) -> Echo:
    return Echo(text=text, times=times)


@server.tool(description="Greets.")
def greet(name: str = "world") -> str:
    return f"Hello, {name}!"


@server.tool(description="Answers at once, however long it is asked to take.")
def slow_compute(seconds: float = 0, label: str = "") -> str:
    return f"{label} done"


@server.tool(description="Answers at once, without asking.")
def confirm_delete(filename: str = "") -> str:
    return f"kept {filename}"


class Memory(EventStore):
    """The last events of every stream, so that a client can resume."""

    def __init__(self) -> None:
        self._events: OrderedDict[str, tuple[str, types.JSONRPCMessage | None]] = OrderedDict()
        self._count = 0

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._count += 1
        event_id = str(self._count)
        self._events[event_id] = (stream_id, message)
        if len(self._events) > 1000:
            self._events.popitem(last=False)
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if last_event_id not in self._events:
            return None
        stream_id = self._events[last_event_id][0]
        for event_id, (stream, message) in list(self._events.items()):
            if int(event_id) > int(last_event_id) and stream == stream_id and message is not None:
                await send_callback(EventMessage(message, event_id))
        return stream_id


def app() -> Starlette:
    return server.streamable_http_app(event_store=Memory(), retry_interval=100)


if __name__ == "__main__":
    run_app(app())
