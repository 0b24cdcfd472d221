"""Results that a request says were read before it, for flow control in `assent decide`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from assent.config.flow import flow_control
from assent.core.call import Request
from assent.core.catalogue import Catalogue
from assent.core.question import visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings


_KEYS = {"tool", "result"}


class EarlierResult(NamedTuple):
    """A result that was read before the call."""

    tool: str
    result: dict[str, Any]


def read_earlier(given: Any) -> list[EarlierResult]:
    """The results in a request; a text stands for a result with that text."""
    if not isinstance(given, list) or not all(isinstance(one, dict) and set(one) == _KEYS for one in given):
        remedy = 'Write [{"tool": "...", "result": "..."}]'
        raise SettingsError(Fault("the results are not a list of tool and result", remedy, "results"))
    return [EarlierResult(str(one["tool"]), _as_result(one["result"])) for one in given]


def _as_result(given: Any) -> dict[str, Any]:
    if isinstance(given, dict) and given.keys() & {"content", "structuredContent"}:
        return given
    if isinstance(given, str):
        return {"content": [{"type": "text", "text": given}]}
    return {"structuredContent": given}


def flow_with(earlier: Sequence[EarlierResult], request: Request, catalogue: Catalogue, settings: Settings) -> Any:
    """Flow control with the results that the request says were read before."""
    flow = flow_control(settings)
    for one in earlier if flow is not None else ():
        tool = catalogue.tools.get(one.tool)
        if tool is None:
            raise SettingsError(Fault(f"no tool has the name {visible(one.tool)}", "Correct the name", "results"))
        flow.take(request.principal, request.conversation, tool, one.result, time.time())
    return flow
