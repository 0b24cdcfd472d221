"""Sends a checked call: attempts with one key, waits for approvals, and reports an unknown end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from assent.client.catalogue import ConversationMeta, Intent, current
from assent.client.connection import Challenged, LoginHook, ServerConnection, Unreached, unless_challenged
from assent.client.idempotency import IdempotencyKeys
from assent.client.options import ClientOptions, Journal
from assent.client.tool_policy import ToolPolicy
from assent.contract.tiers import Tier
from assent.core.outcome import Refusal
from assent.core.problems import PROBLEM
from assent.mcp.requests import QUESTION_OPEN

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
        return float(min(said, 1000 * _LONGEST_DELAY) / 1000)
    return float(min(0.25 * 2 ** (attempt - 1), _LONGEST_DELAY))


_LONGEST_INTERVAL = 15.0


class Sender:
    """Makes calls on a connection."""

    def __init__(
        self,
        client_options: ClientOptions,
        journal: Journal,
        connection: ServerConnection,
        keys: IdempotencyKeys,
        in_flight: list[Intent],
        login: LoginHook,
    ) -> None:
        self._client_options = client_options
        self._journal = journal
        self._connection = connection
        self._keys = keys
        self._in_flight = in_flight
        self._login = login
        self.conversation: ConversationMeta | None = None

    async def send(self, intent: Intent) -> types.CallToolResult:
        """Return the answer. Without one, raise a refusal that says whether anything may have happened, and keep the
        key.
        """
        self._in_flight.append(intent)
        try:
            return await self._send_with_key(intent)
        except _AnsweredWithError as ended:
            raise ended.error from None
        finally:
            self._in_flight[:] = [one for one in self._in_flight if one is not intent]

    async def rehearsed(self, intent: Intent) -> types.CallToolResult:
        """Return the dry run that the agent asked for; it has no effect and needs no key."""
        result = await self.once(intent)
        if result is None:
            raise Refusal("rehearse.failed")
        return result

    async def _send_with_key(self, intent: Intent) -> types.CallToolResult:
        place = intent.listed.place
        if place is None:
            return await self._retry_until_answered(intent, intent.arguments, None, keyed=False)
        key = self._keys.take(intent.digest)
        # Keep the key until there is an answer, so that a retry after a cancellation or disconnect uses the same one.
        settled = False
        try:
            result = await self._retry_until_answered(intent, *place.put(key, intent.arguments), keyed=True)
            settled = not _is_open(result)
            return result
        except _AnsweredWithError:
            settled = True
            raise
        finally:
            if not settled:
                self._keys.keep(intent.digest, key)

    async def _retry_until_answered(
        self, intent: Intent, arguments: dict[str, Any], meta: Any, *, keyed: bool
    ) -> types.CallToolResult:
        attempt, waited, doubtful = 1, 0.0, False
        while True:
            ended = await self._attempt_after(intent, arguments, meta, doubtful=doubtful)
            problem = {} if isinstance(ended, Failed) else problem_of(ended)
            if not isinstance(ended, Failed):
                if problem.get("code") == PENDING and self._may_wait(intent, keyed):
                    pause = self._interval(waited)
                    if waited + pause > self._client_options.approval_patience:
                        return ended
                    self._journal.note("waited", intent.name, approval=problem.get("approval"), seconds=pause)
                    await self._client_options.sleep(pause)
                    waited += pause
                    continue
                if not is_passing(problem):
                    return ended
            else:
                doubtful = doubtful or ended.sent
            also_destructive = bool(self._client_options.repeat_destructive)
            may = may_repeat(intent.listed.standing, keyed=keyed, destructive=also_destructive)
            may = may or (not doubtful and isinstance(ended, Failed))
            if attempt >= self._client_options.attempts or not may:
                return self._give_up(intent, ended, doubtful)
            await self._wait_and_log_retry(intent, attempt, delay(attempt, problem), ended)
            attempt += 1

    async def _attempt_after(
        self, intent: Intent, arguments: dict[str, Any], meta: Any, *, doubtful: bool
    ) -> types.CallToolResult | Failed:
        """Make one attempt. A challenge means that this attempt started nothing; earlier attempts may have."""
        try:
            return await self._attempt_with_login(intent, arguments, meta)
        except Challenged as challenged:
            if doubtful and intent.listed.standing.tier is not Tier.READ:
                told = f"An earlier attempt was sent and its end is not known. {challenged.detail}"
                raise Refusal("execute.in_doubt", told, **challenged.facts) from challenged
            raise

    def _may_wait(self, intent: Intent, keyed: bool) -> bool:
        """Whether calling again only polls: a trusted contract says so, or repeating is safe."""
        return bool(intent.listed.standing.contract) or may_repeat(intent.listed.standing, keyed=keyed)

    def _interval(self, waited: float) -> float:
        return min(max(self._client_options.approval_interval, waited / 4), _LONGEST_INTERVAL)

    async def _wait_and_log_retry(
        self, intent: Intent, attempt: int, seconds: float, ended: Failed | types.CallToolResult
    ) -> None:
        why = ended.why if isinstance(ended, Failed) else "the server said that the problem passes"
        self._journal.note("retried", intent.name, attempt=attempt + 1, why=why, seconds=seconds)
        await self._client_options.sleep(seconds)

    def _give_up(self, intent: Intent, ended: Failed | types.CallToolResult, doubtful: bool) -> types.CallToolResult:
        if not isinstance(ended, Failed):
            return ended
        if intent.listed.standing.tier is Tier.READ:
            raise Refusal("execute.unavailable", f"The tool could not be read: {ended.why}.")
        if not doubtful:
            raise Refusal("execute.unavailable")
        raise Refusal("execute.in_doubt", f"The call was sent and {ended.why}; whether it took effect is not known.")

    async def once(self, intent: Intent) -> types.CallToolResult | None:
        """Make one attempt without a key, for calls without effect; None if there is no answer."""
        try:
            ended = await self._attempt_with_login(intent, intent.arguments, None)
        except _AnsweredWithError:
            return None
        return None if isinstance(ended, Failed) else ended

    async def _attempt_with_login(
        self, intent: Intent, arguments: dict[str, Any], meta: Any
    ) -> types.CallToolResult | Failed:
        return await self._login.retry(lambda: self.attempt(intent, arguments, meta), intent.name)

    async def attempt(self, intent: Intent, arguments: dict[str, Any], meta: Any) -> types.CallToolResult | Failed:
        """Make one attempt with a timeout; raise Challenged if the server refused the credentials."""
        token, client = current.set(None), None  # A connection keeps the context in which it is made.
        meta = self.conversation.over(meta) if self.conversation is not None else meta
        if intent.question_open is not None:
            meta = {**(meta or {}), QUESTION_OPEN: round(intent.question_open, 3)}
        try:
            before = self._connection.opened
            client = await self._connection.client()
            if before and self._connection.opened > before:
                self._journal.note("reconnected", intent.name)
            current.set(intent)
            async with asyncio.timeout(self._client_options.timeout) as intent.timer:
                return with_problem(await unless_challenged(client.call_tool(intent.name, arguments, meta=meta)))
        except Exception as error:
            failed = failure_of(error)
            if failed is None:
                raise _as_refusal(error) from error
            if failed.connection_lost and client is not None:
                self._connection.broken(client)
            self._journal.note("failed", intent.name, why=failed.why, sent=failed.sent)
            return failed
        finally:
            intent.timer = None
            current.reset(token)


class _AnsweredWithError(Exception):
    """The server answered with an error, so the key is settled."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _as_refusal(error: Exception) -> Exception:
    """Return the exception for the agent when the answer is an error."""
    if isinstance(error, MCPError):
        if error.code == types.INVALID_PARAMS:
            return _AnsweredWithError(Refusal("validate.arguments_invalid", "The server did not accept this call."))
        return _AnsweredWithError(error)
    if isinstance(error, ValidationError | RuntimeError):
        return _AnsweredWithError(Refusal("execute.output_invalid"))
    return error


def _is_open(result: types.CallToolResult) -> bool:
    """Whether the same call again would still be the same action."""
    problem = problem_of(result)
    return problem.get("code") in (PENDING, "recall.in_doubt", "execute.in_doubt") or is_passing(problem)
