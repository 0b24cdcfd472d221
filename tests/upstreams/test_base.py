"""What does an upstream's failure say about its effect, where a call takes several rounds?"""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp_types import INVALID_PARAMS

from assent.edges.gateway import Incoming
from assent.edges.inbound import Era
from assent.edges.links import McpLink
from assent.edges.rpc import RpcError
from assent.edges.upstreams.faults import Fault, Unreachable
from assent.ports import Lost, NotRun, Unreached
from assent.testing.world import World

ASKING = {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create"}}}
NEVER_SENT = Unreachable("shop", "down", sent=False)
REFUSED = RpcError(INVALID_PARAMS, "no such question")


class Scripted(McpLink):
    """An upstream that answers one round after the other."""

    def __init__(self, *said: Any) -> None:
        super().__init__("shop")
        self._said = list(said)

    async def _once(self, *_: Any, **__: Any) -> dict[str, Any]:
        said = self._said.pop(0)
        if isinstance(said, Exception):
            raise said
        return cast("dict[str, Any]", said)


async def call(link: McpLink) -> dict[str, Any]:
    async def ask(*_: Any) -> dict[str, Any]:
        return {"action": "accept"}

    world = World({"send": {"side_effect": "write"}})
    called = SimpleNamespace(tool=next(iter(world.catalogue.tools.values())), resume=None)
    incoming = SimpleNamespace(inbound=SimpleNamespace(era=Era.HANDSHAKE), reply=SimpleNamespace(ask=ask))
    return await link._guarded(cast("Any", called), {}, [], cast("Incoming", incoming))


@pytest.mark.parametrize(("fault", "means"), [(NEVER_SENT, Unreached), (REFUSED, NotRun)])
async def test_a_first_round_that_did_not_run_did_nothing(fault: Fault, means: type[Exception]) -> None:
    with pytest.raises(means):
        await call(Scripted(fault))


@pytest.mark.parametrize("fault", [NEVER_SENT, REFUSED])
async def test_once_the_tool_has_asked_it_has_begun_and_a_failure_leaves_a_doubt(fault: Fault) -> None:
    with pytest.raises(Lost):
        await call(Scripted(ASKING, fault))
