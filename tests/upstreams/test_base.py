"""What does an upstream's failure say about its effect, where a call takes several rounds?"""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp_types import INVALID_PARAMS

from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import Era, McpRequest
from assent.ports import NotReached, NotRun, OutcomeUnknown
from assent.testing.world import World
from assent.upstreams.errors import Unreachable, UpstreamError
from assent.upstreams.link import McpLink

ASKING = {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create"}}}
NEVER_SENT = Unreachable("shop", "down", sent=False)
REFUSED = RpcError(INVALID_PARAMS, "no such question")


class Scripted(McpLink):
    """An upstream that answers one round after the other."""

    def __init__(self, *said: Any) -> None:
        super().__init__("shop")
        self._said = list(said)

    async def _request(self, *_: Any, **__: Any) -> dict[str, Any]:
        said = self._said.pop(0)
        if isinstance(said, Exception):
            raise said
        return cast("dict[str, Any]", said)


async def call(link: McpLink) -> dict[str, Any]:
    async def ask(*_: Any) -> dict[str, Any]:
        return {"action": "accept"}

    world = World({"send": {"side_effect": "write"}})
    called = SimpleNamespace(tool=next(iter(world.catalogue.tools.values())), resume=None)
    mcp_request = SimpleNamespace(era=Era.HANDSHAKE, reply=SimpleNamespace(ask=ask))
    return await link._call_tool(cast("Any", called), {}, [], cast("McpRequest", mcp_request))


@pytest.mark.parametrize(("fault", "means"), [(NEVER_SENT, NotReached), (REFUSED, NotRun)])
async def test_a_first_round_that_did_not_run_did_nothing(fault: UpstreamError, means: type[Exception]) -> None:
    with pytest.raises(means):
        await call(Scripted(fault))


@pytest.mark.parametrize("fault", [NEVER_SENT, REFUSED])
async def test_once_the_tool_has_asked_it_has_begun_and_a_failure_leaves_a_doubt(fault: UpstreamError) -> None:
    with pytest.raises(OutcomeUnknown):
        await call(Scripted(ASKING, fault))
