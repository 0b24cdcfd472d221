"""The official client, in both eras, through us."""

from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.client import ConnectMode
from mcp.client.context import ClientRequestContext

MODES: list[ConnectMode] = ["legacy", "auto"]


async def answer(_: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    schema = params.requested_schema if isinstance(params, types.ElicitRequestFormParams) else {}
    samples: dict[str, Any] = {"string": "Ann", "boolean": True}
    content = {name: samples[kind["type"]] for name, kind in schema["properties"].items()}
    return types.ElicitResult(action="accept", content=content)


async def sample(_: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    words = types.TextContent(type="text", text="bonjour")
    return types.CreateMessageResult(role="assistant", content=words, model="test")


@pytest.fixture(params=MODES)
async def client(request: pytest.FixtureRequest, front_url: str) -> Any:
    async with Client(front_url, mode=request.param, elicitation_callback=answer, sampling_callback=sample) as client:
        yield client


def words(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def test_a_tool_is_listed_and_called_with_its_structured_result(client: Client) -> None:
    assert "echo" in {tool.name for tool in (await client.list_tools()).tools}
    result = await client.call_tool("echo", {"text": "hi"})
    assert result.structured_content == {"text": "hi", "times": 1}


async def test_progress_arrives_while_the_tool_runs(client: Client) -> None:
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
    assert seen == [0, 50, 100]


async def test_the_upstreams_own_question_reaches_the_user_and_comes_back(client: Client) -> None:
    if client.protocol_version == "2026-07-28":
        assert words(await client.call_tool("test_input_required_result_multi_round", {})) == "Ann likes Ann"
    else:
        assert "Ann" in words(await client.call_tool("test_elicitation", {"message": "Who?"}))


async def test_the_upstreams_question_to_the_model_reaches_the_client(client: Client) -> None:
    if client.protocol_version == "2026-07-28":
        assert "bonjour" in words(await client.call_tool("test_input_required_result_sampling", {}))
    else:
        assert words(await client.call_tool("test_sampling", {"prompt": "Hello"})) == "LLM response: bonjour"


async def test_resources_prompts_and_completion_come_through(client: Client) -> None:
    (content,) = (await client.read_resource("test://template/7/data")).contents
    assert isinstance(content, types.TextResourceContents)
    assert '"id":"7"' in content.text
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
    assert "arg1='a'" in prompt.messages[0].content.text  # type: ignore[union-attr]
    reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completion = await client.complete(reference, {"name": "arg1", "value": "par"})
    assert completion.completion.values == ["paris", "park", "party"]
