"""Failed attempts of a call, the problems in answers, and whether the call may be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError

from assent.client.connection import Unreached
from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Tier
from assent.core.outcome import PROBLEM

PENDING = "confirm.approval_pending"
_LONGEST_DELAY = 30.0
_NO_SESSION = ("Session terminated", "Session not found", "Not Found: Session has been terminated")
"""Texts of a 404: the server restarted and did not process a request of the old session."""
_CUT = (OSError, httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream)


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt without an answer. `sent` is True if the server may still have acted."""

    why: str
    sent: bool = True
    connection_lost: bool = False


def failure_of(error: Exception) -> Failed | None:
    """Return the failed attempt for an exception; None if the server answered with an error."""
    if isinstance(error, Unreached):
        return Failed("the server could not be reached", sent=False)
    if isinstance(error, TimeoutError):
        return Failed("no answer came in time", connection_lost=True)
    if isinstance(error, MCPError):
        return _protocol_failure(error.code, error.message)
    return Failed("the connection broke", connection_lost=True) if isinstance(error, _CUT) else None


def _protocol_failure(code: int, message: str) -> Failed | None:
    if code == types.CONNECTION_CLOSED:
        return Failed("the connection broke", connection_lost=True)
    if code == types.REQUEST_TIMEOUT:
        return Failed("no answer came in time", connection_lost=True)
    if code == types.INVALID_REQUEST:
        # The SDK uses the same text for an invalid answer, such as a proxy's page.
        return Failed("the session is over", sent=message not in _NO_SESSION, connection_lost=True)
    # An HTTP 5xx and an exception inside the server cannot be told apart here.
    return Failed("the server failed") if code == types.INTERNAL_ERROR else None


def may_repeat(standing: ToolPolicy, *, keyed: bool, destructive: bool = False) -> bool:
    """Whether a call with an unknown end may be repeated; `destructive`: also one that destroys and is idempotent."""
    if standing.tier is Tier.DESTRUCTIVE:
        return destructive and standing.idempotent
    if standing.tier is Tier.READ or keyed:
        return True
    if standing.tier in (Tier.EXTERNAL_SPEND, Tier.SHARE_EXPORT):
        # An idempotent hint assumes the same key. Only a contract can say that repeating is harmless without one.
        return standing.source == "contract" and standing.idempotent
    return standing.idempotent


def problem_of(result: types.CallToolResult) -> Mapping[str, Any]:
    """Return the problem details of an error result, or an empty mapping."""
    said = result.structured_content
    return said if result.is_error and isinstance(said, Mapping) else {}


def with_problem(result: types.CallToolResult) -> types.CallToolResult:
    """Return an error result with its problem as structured content, if the server put it into `_meta`."""
    problem = (result.meta or {}).get(PROBLEM)
    if not result.is_error or result.structured_content is not None or not isinstance(problem, Mapping):
        return result
    return result.model_copy(update={"structured_content": dict(problem)})


def is_passing(problem: Mapping[str, Any]) -> bool:
    """Whether the server says that the problem is temporary, or a call with our key still runs."""
    status = problem.get("status")
    if problem.get("retryable") is not True or not isinstance(status, int):
        return False
    return status >= 500 or problem.get("code") == "recall.in_flight"


def delay(attempt: int, problem: Mapping[str, Any]) -> float:
    """Return the seconds to wait before the next attempt."""
    said = problem.get("retry_after_ms")
    if isinstance(said, int | float) and not isinstance(said, bool) and said >= 0:
        return float(min(said / 1000, _LONGEST_DELAY))
    return float(min(0.25 * 2 ** (attempt - 1), _LONGEST_DELAY))
