"""Questions to the user of a client, and the answers in a retry, in wire form: the same for every edge.

Modern (2026-07-28): a question is the result, and the client sends the call again with the answer and the state that
came with the question. Handshake revisions: the question goes out on the open stream, and the call waits. See ADR 0050.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import orjson

from assent.core.approval import Approval
from assent.core.call import Action, Resume, UserAnswer
from assent.core.outcome import INPUT_REQUIRED, Answer, Refusal
from assent.core.principal import Principal
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import CLIENT_INFO_META_KEY, INVALID_PARAMS, LATEST_MODERN_VERSION
from assent.mcp.request_state import RequestStateCodec
from assent.mcp.requests import claimed_seconds, client_name

CONFIRM = "dev.assent/confirm"
CONNECT = "dev.assent/connect"
DECIDE = "dev.assent/decide"
BESIDE = "dev.assent/inputResponses"
"""The name under which unrequested input responses are digested, shown, checked and logged."""
_QUESTION: dict[str, Any] = {"approval": str, "beside": dict}
_LINK: dict[str, Any] = {"connect": str, "scope": str, "beside": dict}
_PAGE: dict[str, Any] = {"page": str, "beside": dict}
_TOOL_QUESTION: dict[str, Any] = {
    "claim": str | None, "epoch": int, "arguments": str, "asked": list, "state": str | None, "beside": dict,
}  # fmt: skip
_FORM: dict[str, Any] = {"type": "object", "properties": {}}


class ConnectAnswer(NamedTuple):
    """What a person did who was sent to the page where an upstream is connected."""

    upstream: str
    scope: str
    accepted: bool


class Retry(NamedTuple):
    """A call taken apart: the answers to Assent's questions, the claim to resume, and what the tool gets besides its
    arguments, as sent and as the call states it.
    """

    answer: UserAnswer | None = None
    resume: Resume | None = None
    forward: Mapping[str, Any] = {}
    beside: Mapping[str, Any] = {}
    connect: ConnectAnswer | None = None
    page: str | None = None
    """The approval that a person went to decide on its page; empty if they did not go."""


class ConfirmationCodec:
    """Writes questions into results and reads the answers from retries. The state in between is Assent's."""

    def __init__(self, state: RequestStateCodec) -> None:
        self._state = state

    def ask(
        self, approval: Approval, version: str, principal: Principal, tool: str, beside: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The confirmation question as the result of the call."""
        asked = {"approval": approval.id, "beside": beside, "at": self._state.now()}
        return _question(CONFIRM, form_of(approval, version), self._state.close(asked, principal, tool))

    def ask_to_connect(
        self, refusal: Refusal, version: str, principal: Principal, tool: str, beside: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The link to the page where an upstream is connected, as the result of the call."""
        link = link_of(refusal.detail, refusal.facts["connect_url"], version)
        facts = {"connect": refusal.facts["upstream"], "scope": refusal.facts.get("scope", ""), "beside": beside}
        return _question(CONNECT, link, self._state.close(facts, principal, tool))

    def ask_to_decide(
        self, refusal: Refusal, version: str, principal: Principal, tool: str, beside: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The link to the page where a person decides, as the result of the call. Opening it decides nothing."""
        state = self._state.close({"page": refusal.facts["approval"], "beside": beside}, principal, tool)
        return _question(DECIDE, decision_link(refusal, version), state)

    def pass_question(
        self, answer: Answer, arguments: Any, principal: Principal, tool: str, beside: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A tool's own question, with its state inside Assent's. A read has no claim, only its arguments."""
        result, resume = answer.on_wire(), answer.resume
        questions = result.get("inputRequests")
        state = {
            "claim": resume.claim if resume is not None else None,
            "epoch": resume.epoch if resume is not None else 0,
            "arguments": _digest(arguments),
            "asked": list(questions) if isinstance(questions, Mapping) else [],
            "state": result.get("requestState"),
            "beside": beside,
        }
        return {**result, "requestState": self._state.close(state, principal, tool)}

    def read(self, params: Mapping[str, Any], principal: Principal) -> Retry:
        """Take a call of the modern era apart. Raises RpcError if its state is not Assent's for this very call.

        The state lists the questions asked: only answers to those belong to the tool. Input responses without state
        are treated like arguments of the caller.
        """
        given, token = params.get("inputResponses"), params.get("requestState")
        responses = given if isinstance(given, Mapping) else {}
        if token is None:
            unrequested = {name: value for name, value in responses.items() if name not in (CONFIRM, CONNECT, DECIDE)}
            return _retry_beside(None, {BESIDE: unrequested} if unrequested else {})
        state = self._state.open(token, principal, params["name"]) if isinstance(token, str) else None
        if state is None or not _is_complete(state):
            raise RpcError(INVALID_PARAMS, "requestState: it belongs to another call or expired; call again without it")
        if "approval" in state:
            return _retry_beside(self._answer(state, responses.get(CONFIRM), params.get("_meta")), state["beside"])
        if "page" in state:
            went = action_of(responses.get(DECIDE)) == "accept"
            return _retry_beside(None, state["beside"])._replace(page=state["page"] if went else "")
        if "connect" in state:
            accepted = action_of(responses.get(CONNECT)) == "accept"
            answer = ConnectAnswer(state["connect"], state["scope"], accepted)
            return _retry_beside(None, state["beside"])._replace(connect=answer)
        if state["claim"] is None and state["arguments"] != _digest(params.get("arguments")):
            raise RpcError(INVALID_PARAMS, "requestState: it belongs to other arguments; call again without it")
        forward: dict[str, Any] = {}
        if answers := {name: responses[name] for name in state["asked"] if name in responses}:
            forward["inputResponses"] = answers
        if state["state"] is not None:
            forward["requestState"] = state["state"]
        resume = Resume(state["claim"], state["epoch"]) if state["claim"] is not None else None
        return Retry(None, resume, forward, state["beside"])

    def _answer(self, state: Mapping[str, Any], response: Any, meta: Any) -> UserAnswer | None:
        """The client's answer, with the time since this very question went out."""
        asked = state.get("at")
        seconds = self._state.now() - asked if isinstance(asked, int | float) else None
        return user_answer(state["approval"], response, meta, (meta or {}).get(CLIENT_INFO_META_KEY), seconds)


def _question(name: str, params: dict[str, Any], state: str) -> dict[str, Any]:
    question = {"method": "elicitation/create", "params": params}
    return {"resultType": INPUT_REQUIRED, "inputRequests": {name: question}, "requestState": state}


def user_answer(
    approval: str, response: Any, meta: Any, client_info: Any, seconds: float | None = None
) -> UserAnswer | None:
    """A client's response to a question, with what the client says of itself; None if it is no answer."""
    action = action_of(response)
    if action is None:
        return None
    return UserAnswer(approval, action, seconds, client_name(client_info), claimed_seconds(meta))


def form_of(approval: Approval, version: str) -> dict[str, Any]:
    """The parameters of an elicitation that asks for a yes or a no. It has no fields: the action answers."""
    form: dict[str, Any] = {"message": approval.text, "requestedSchema": _FORM}
    return {"mode": "form", **form} if version >= "2025-11-25" else form


def shows_forms(capabilities: Mapping[str, Any] | None) -> bool:
    """Whether a client can show a form to a person and return the answer."""
    elicitation = (capabilities or {}).get("elicitation")
    return isinstance(elicitation, Mapping) and ("form" in elicitation or "url" not in elicitation)


def link_of(message: str, url: str, version: str, id: str = "") -> dict[str, Any]:
    """The parameters of an elicitation that leads a person to a page; the handshake revision wants an id."""
    link = {"mode": "url", "message": message, "url": url}
    return link if version >= LATEST_MODERN_VERSION else {**link, "elicitationId": id}


def decision_link(refusal: Refusal, version: str, id: str = "") -> dict[str, Any]:
    """The parameters of an elicitation that leads a person to the page of an approval, where they sign in."""
    asked = refusal.approval.details if refusal.approval is not None else None
    what = f"{asked['sentence']} " if asked else ""
    message = f"{what}This client's own answer does not count here. Open the page, sign in and decide there."
    return link_of(message, refusal.facts["approval_url"], version, id)


def shows_links(capabilities: Mapping[str, Any] | None) -> bool:
    """Whether a client can lead a person to a page."""
    elicitation = (capabilities or {}).get("elicitation")
    return isinstance(elicitation, Mapping) and isinstance(elicitation.get("url"), Mapping)


def action_of(answer: Any) -> Action | None:
    """What the person did, from an elicitation result."""
    action = answer.get("action") if isinstance(answer, Mapping) else None
    return cast("Action", action) if action in ("accept", "decline", "cancel") else None


def _is_complete(state: Mapping[str, Any]) -> bool:
    """Whether a state has its members, each of its type; a client may have written one that is not encrypted."""
    names = {"approval": _QUESTION, "connect": _LINK, "page": _PAGE}
    kinds = next((kinds for name, kinds in names.items() if name in state), _TOOL_QUESTION)
    return all(isinstance(state.get(name), kind) for name, kind in kinds.items())


def _retry_beside(answer: UserAnswer | None, beside: Mapping[str, Any]) -> Retry:
    return Retry(answer, None, {"inputResponses": beside[BESIDE]} if BESIDE in beside else {}, beside)


def _digest(arguments: Any) -> str:
    return hashlib.sha256(orjson.dumps(arguments or {}, option=orjson.OPT_SORT_KEYS)).hexdigest()
