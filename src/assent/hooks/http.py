"""Hooks over HTTP: `POST /hooks/CLIENT` at a gateway, with the caller's own key. No process starts per call."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import orjson

from assent.config.model import HookSettings
from assent.core.limited_dict import LimitedDict
from assent.gateway.auth.challenges import Challenge
from assent.gateway.generation import Generation
from assent.hooks import answers
from assent.hooks.calls import HookDoor, HookSource
from assent.hooks.contracts import BuiltinTools
from assent.hooks.events import MOST_EVENT, HookEvent
from assent.web.asgi import Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, read_body, respond, respond_error

PATH = "/hooks"
OWN_SERVER = "assent"
"""The name that `assent init` gives the gateway in a client's file."""
_SENDS_WITHIN = 5.0


class HooksApp:
    """Everything under `/hooks`. The answer has status 200 and is the client's own, a denial too."""

    def __init__(self, gateway: Any) -> None:
        """`gateway` has the current generation."""
        self._gateway = gateway
        self._doors: LimitedDict[tuple[object, ...], tuple[Generation, HookDoor]] = LimitedDict(1000)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        generation: Generation = self._gateway.current
        authenticator, headers = generation.rulebook.authenticator, scope["headers"]
        client = scope["path"].removeprefix(PATH).strip("/")
        refused = authenticator.host_policy().refuse_headers(headers)
        if refused is not None:
            return await respond_error(send, refused[0], refused[1])
        if client not in answers.CLIENTS:
            return await respond_error(
                send, 404, f"The hooks are {', '.join(f'{PATH}/{one}' for one in answers.CLIENTS)}"
            )
        if scope["method"] != "POST" or not _is_json(headers):  # A web page cannot send JSON here unasked.
            return await respond_error(
                send, 405 if scope["method"] != "POST" else 415, "Send the event as JSON by POST"
            )
        try:
            principal = await authenticator.authenticate(headers, scope)
            raw = await read_body(headers, receive, MOST_EVENT)
        except Challenge as challenge:
            return await respond(send, challenge.status, orjson.dumps(challenge.problem), challenge.fields)
        except BodyTooLarge:
            said = answers.failure(client, f"the event is larger than {MOST_EVENT // 1024 // 1024} MB")
            return await respond(send, 200, said.encode())
        except Disconnected:
            return None
        door = self._door(generation, principal)
        await respond(send, 200, (await door.answer(client, raw, HookSource(conversation=""))).encode())

    def _door(self, generation: Generation, principal: Any) -> HookDoor:
        """The door of one caller; a changed configuration makes a new one, and sessions keep what they began with."""
        known = self._doors.get(principal.identity)
        if known is not None and known[0].rulebook is generation.rulebook and known[1].principal == principal:
            return known[1]
        settings = generation.settings
        door = HookDoor(
            lambda: self._gateway.current.ports,
            principal,
            BuiltinTools(generation.served.contracts, inferring=settings.without_contract == "infer"),
            allow=settings.hooks.allow,
            governed_elsewhere=_through_this_gateway,
        )
        if known is not None:
            door.projects, door.asked = known[1].projects, known[1].asked
        self._doors[principal.identity] = generation, door
        return door


def _through_this_gateway(event: HookEvent, _: Mapping[str, str]) -> bool:
    return event.server == OWN_SERVER or event.tool.startswith((f"{OWN_SERVER}_", f"{OWN_SERVER}-"))


def _is_json(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value.startswith(b"application/json") for name, value in headers)


async def send_prompt(settings: HookSettings, client: str, event: HookEvent) -> str:
    """Pass the user's words on to the team's gateway; gives what went wrong, or an empty text."""
    if settings.gateway is None:
        return ""
    body = _as_sent(client, event)
    headers = {"Authorization": f"Bearer {settings.key}", "Content-Type": "application/json"}
    root = settings.gateway.rstrip("/").removesuffix("/mcp")  # People write its MCP endpoint too.
    request = urllib.request.Request(f"{root}{PATH}/{client}", body, headers)
    try:
        await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=_SENDS_WITHIN).close())
    except OSError as error:
        return f"the prompt did not reach the gateway {settings.gateway}: {error}"
    return ""


def _as_sent(client: str, event: HookEvent) -> bytes:
    """The event in the client's own form."""
    if client == "copilot":
        given: dict[str, Any] = {"sessionId": event.session, "prompt": event.prompt}
    elif client == "opencode":
        given = {"version": 1, "event": "prompt", "session": event.session, "prompt": event.prompt}
    else:
        names = {"gemini": "BeforeAgent", "cursor": "beforeSubmitPrompt"}
        given = {"hook_event_name": names.get(client, "UserPromptSubmit"), "prompt": event.prompt}
        given |= {"session_id": event.session, "conversation_id": event.session}
    return json.dumps(given).encode()
