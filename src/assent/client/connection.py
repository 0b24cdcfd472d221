"""Connection to a server, made again when it breaks.

One task must enter and leave an SDK client. So every connection has its own task, and calls may come from any task.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import httpx2
import mcp_types as types
import orjson
from mcp.client.auth.utils import extract_field_from_www_auth

from assent.client.options import Journal
from assent.core.outcome import Refusal

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MOST_VALUES = 50


class Challenged(Refusal):
    """The server needs other credentials for this request and started nothing."""

    login_tried = False
    """Whether the login hook was called for it, without success."""

    @property
    def scopes(self) -> list[str]:
        """All scopes that the request needs, as the server listed them."""
        return list(self.facts.get("required_permissions", ()))

    @property
    def acr_values(self) -> list[str]:
        """The login methods of which the server requires one."""
        return list(self.facts.get("acr_values", ()))

    @property
    def max_age(self) -> int | None:
        """Maximum age of the login in seconds."""
        return self.facts.get("max_age")

    @property
    def resource_metadata(self) -> str | None:
        """URL of the metadata that lists the authorization servers."""
        return self.facts.get("resource_metadata")


@dataclass(slots=True)
class Exchange:
    """HTTP challenges to the requests of one call."""

    challenge: Challenged | None = None


_current: ContextVar[Exchange | None] = ContextVar("assent_exchange", default=None)


@contextmanager
def exchange() -> Iterator[Exchange]:
    """Record challenges to the requests made in this block."""
    token = _current.set(made := Exchange())
    try:
        yield made
    finally:
        _current.reset(token)


async def unless_challenged(request: Awaitable[T]) -> T:
    """Return the answer; raise Challenged if the request failed because of a challenge."""
    with exchange() as seen:
        try:
            return await request
        except Exception as error:
            if seen.challenge is not None:
                raise seen.challenge from error
            raise


def watch_http(client: Any) -> None:
    """Install the hooks on the HTTP client that an SDK client was given, if there is one."""
    server = getattr(client, "server", None)
    given = (*getattr(server, "args", ()), *getattr(server, "kwds", {}).values())
    for one in given:
        if isinstance(one, httpx2.AsyncClient):
            hook_into(one)


def hook_into(http: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Install the hooks once on the HTTP client and return it."""
    for name, hook in (("request", forget_challenge), ("response", keep_challenge)):
        hooks = http.event_hooks.setdefault(name, [])
        if hook not in hooks:
            hooks.append(hook)
    return http


async def forget_challenge(request: httpx2.Request) -> None:
    """Request hook: drop the challenge to an earlier request."""
    current = _current.get()
    if current is not None and _is_message(request):
        current.challenge = None


async def keep_challenge(response: httpx2.Response) -> None:
    """Response hook: record what a 401 or 403 asks for."""
    current = _current.get()
    if current is not None and response.status_code in (401, 403) and _is_message(response.request):
        current.challenge = _read_challenge(response)


def _is_message(request: httpx2.Request) -> bool:
    """Whether it is a JSON-RPC request of this client, not a notification or a token request."""
    if request.method != "POST" or b'"jsonrpc"' not in request.content:
        return False
    try:
        return "id" in orjson.loads(request.content)
    except (ValueError, TypeError):
        return False


def _read_challenge(response: httpx2.Response) -> Challenged:
    error = extract_field_from_www_auth(response, "error")
    scopes, acr = _values(response, "scope"), _values(response, "acr_values")
    metadata = extract_field_from_www_auth(response, "resource_metadata") or ""
    facts: dict[str, Any] = {"resource_metadata": metadata} if _SCOPE.fullmatch(metadata) else {}
    if response.status_code == 403:
        facts |= {"required_permissions": scopes} if scopes else {}
        return Challenged("authorize.missing_permissions", _wants("these scopes", scopes), **facts)
    if error != "insufficient_user_authentication":
        code = "authenticate.invalid" if error == "invalid_token" else "authenticate.missing"
        return Challenged(code, "The server does not accept the credentials (HTTP 401). Nothing was started.", **facts)
    age = extract_field_from_www_auth(response, "max_age") or ""
    facts |= {"acr_values": acr} if acr else {}
    facts |= {"max_age": int(age)} if age.isascii() and age.isdigit() and len(age) < 10 else {}
    return Challenged("step_up.required", _wants("a login by one of", acr, "a newer or stronger login"), **facts)


def _values(response: httpx2.Response, field: str) -> list[str]:
    """Return the values that the challenge lists: plain words, limited in number and length."""
    said = (extract_field_from_www_auth(response, field) or "").split(" ")
    return [value for value in said if _SCOPE.fullmatch(value)][:_MOST_VALUES]


def _wants(what: str, values: list[str], otherwise: str = "other permissions") -> str:
    wanted = f"{what}: {', '.join(values)}" if values else otherwise
    return f"For this call the server wants {wanted}. Nothing was started."


T = TypeVar("T")
Login = Callable[[Challenged], Any]
"""Plain or `async`. Returns an access token, True if it renewed the credentials itself, None without a login."""


class LoginHook:
    """Calls the hook, one login at a time, and keeps the token that it returned."""

    def __init__(self, hook: Login | None, journal: Journal, within: float, on_login: Callable[[], None]) -> None:
        self._hook, self._journal, self._within, self._on_login = hook, journal, within, on_login
        self._token: str | None = None
        self._sends_tokens = False
        self._turn = asyncio.Lock()
        self._logins = 0

    async def retry(self, send: Callable[[], Awaitable[T]], tool: str = "") -> T:
        """Send a request; after a challenge log in and send it again, once for each kind of challenge.

        One login per call could not meet two challenges; one per refusal could ask a person without end.
        """
        tried: set[str] = set()
        while True:
            before = self._logins
            try:
                return await send()
            except Challenged as challenged:
                if self._hook is None or challenged.login_tried:
                    raise
                if challenged.code in tried or not await self._log_in(challenged, tool, before, tried):
                    challenged.login_tried = True
                    raise

    async def _log_in(self, challenged: Challenged, tool: str, before: int, tried: set[str]) -> bool:
        async with self._turn:
            if self._logins > before:
                return True  # Another call logged in meanwhile; its login may be enough for this one.
            tried.add(challenged.code)
            said, why = await self._call_hook(challenged)
            self._journal.note("logged_in", tool, code=challenged.code, done=said, why=why)
            if said:
                self._logins += 1
                self._on_login()
            return said

    async def _call_hook(self, challenged: Challenged) -> tuple[bool, str]:
        """Whether there are new credentials, and why not."""
        assert self._hook is not None
        try:
            async with asyncio.timeout(self._within):
                said = self._hook(challenged)
                said = await said if inspect.isawaitable(said) else said
        except TimeoutError:
            return False, "the login timed out"
        except Exception as error:
            return False, f"the login failed with {type(error).__name__}"
        if isinstance(said, str) and said:
            if not self._sends_tokens:
                raise TypeError("login= returned a token, but connect= made the client: put it there and return True")
            self._token = said
        return bool(said), "" if said else "the hook returned no credentials"

    def bearer_for(self, url: str) -> Callable[[httpx2.Request], Awaitable[None]]:
        """Return a request hook that sends the token to the server at this URL and to no other host."""
        origin, self._sends_tokens = _origin(httpx2.URL(url)), True

        async def authorize(request: httpx2.Request) -> None:
            if self._token is not None and _origin(request.url) == origin:
                request.headers["Authorization"] = f"Bearer {self._token}"

        return authorize


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


class ConnectedClient(Protocol):
    """The client interface that a governed client needs; the official client has it, FastMCP's is adapted."""

    @property
    def server_info(self) -> types.Implementation | None: ...

    async def list_tools(self, *, cursor: str | None = None, cache_mode: Any = ...) -> types.ListToolsResult: ...

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, *, meta: Any = None
    ) -> types.CallToolResult: ...


Connect = Callable[[], AbstractAsyncContextManager[ConnectedClient]]


class Unreached(Exception):
    """No connection could be made, and nothing was sent."""


class _ConnectionTask:
    """One entered client and its task."""

    def __init__(self, connect: Connect) -> None:
        self._closing = asyncio.Event()
        self.ready: asyncio.Future[ConnectedClient] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(connect))

    async def _run(self, connect: Connect) -> None:
        try:
            async with connect() as client:
                self.ready.set_result(client)
                await self._closing.wait()
        except asyncio.CancelledError:
            if not self.ready.done():
                self.ready.cancel()
            raise
        except Exception as error:
            # If it was ready, the caller has seen the failure already.
            if not self.ready.done():
                self.ready.set_exception(error)

    async def close(self) -> None:
        self._closing.set()
        if not self.ready.done():
            self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


class ServerConnection:
    """The current client of a server. After `broken`, the next call makes a new one."""

    def __init__(self, connect: Connect, within: float, login: LoginHook) -> None:
        self._connect = connect
        self._within = within
        self._login = login
        self._task: _ConnectionTask | None = None
        self._client: ConnectedClient | None = None
        self._turn = asyncio.Lock()
        self.opened = 0

    async def client(self) -> ConnectedClient:
        """Return the connected client; raise Unreached on timeout and Challenged for refused credentials."""
        if self._client is not None:
            return self._client
        async with self._turn:
            if self._client is None:
                await self._drop()
                self._client = await self._login.retry(self._open)
            return self._client

    def broken(self, client: ConnectedClient) -> None:
        """Mark this client as broken; a client that was already replaced is ignored."""
        if self._client is client:
            self._client = None

    async def close(self) -> None:
        async with self._turn:
            self._client = None
            await self._drop()

    async def _open(self) -> ConnectedClient:
        with exchange() as seen:
            self._task = task = _ConnectionTask(self._connect)
        try:
            async with asyncio.timeout(self._within):
                client = await asyncio.shield(task.ready)
        except Exception as error:
            await self._drop()
            if seen.challenge is not None:
                raise seen.challenge from error
            raise Unreached(f"the server could not be reached: {_describe_cause(error, self._within)}") from error
        self.opened += 1
        return client

    async def _drop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            await task.close()


def _describe_cause(error: BaseException, within: float) -> str:
    """Return the cause in words, taken out of the exception groups that the SDK raises."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {within:g} seconds"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename!r} was not found; install it, or give its full path"
    return f"{error} ({type(error).__name__})" if str(error) else type(error).__name__
