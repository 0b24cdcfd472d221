"""Builds JSON-RPC messages and reads responses."""

import asyncio
from typing import Any

import orjson

from assent.core.hidden_characters import without_hidden
from assent.core.outcome import Refusal
from assent.core.shown_definition import Shown
from assent.mcp.protocol import INTERNAL_ERROR, METHOD_NOT_FOUND, PARSE_ERROR

RequestId = str | int
_FEW_LEVELS = 200
"""The writer of JSON takes 254 levels, and its reader more."""


class RpcError(Exception):
    """A JSON-RPC error response; the HTTP status follows from the code and the era."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def read_response(message: dict[str, Any]) -> dict[str, Any]:
    """The result in a response. Raises RpcError as the sender wrote it, without hidden characters, or ValueError if
    it is no response.
    """
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        code = error.get("code")
        text, data = without_hidden(str(error.get("message", ""))), Shown(None).text(error.get("data"), "")
        raise RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text, data)
    if not isinstance(result, dict):
        raise ValueError("the response is not JSON-RPC")
    return result


def is_too_deep(text: bytes, message: Any) -> bool:
    """Whether a message is nested so deeply that it can be read but not written again."""
    if text.count(b"[") + text.count(b"{") <= _FEW_LEVELS:
        return False
    try:
        orjson.dumps([[[[[[message]]]]]])  # The deepest nesting that any code adds around a message.
    except TypeError:
        return True
    return False


def settle(answer: asyncio.Future[dict[str, Any]], message: dict[str, Any], invalid: Exception | None = None) -> None:
    """Give a response to the code that waits for it; `invalid` is raised there if it is no response."""
    try:
        answer.set_result(read_response(message))
    except RpcError as error:
        answer.set_exception(error)
    except ValueError as error:
        answer.set_exception(invalid or error)


def cannot_be_asked(question: dict[str, Any]) -> dict[str, Any]:
    """The response to a server's question that no client can answer; it is refused at once and not left open."""
    error = {"code": METHOD_NOT_FOUND, "message": "the client cannot be asked"}
    return {"jsonrpc": "2.0", "id": question["id"], "error": error}


def result_body(request_id: RequestId, result: bytes) -> bytes:
    """A response around a result that is already JSON."""
    if request_id.__class__ is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request_id, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(request_id), result)


def error_body(request_id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def malformed_body(error: ValueError) -> bytes:
    """The response to a message that is not strict JSON."""
    problem = Refusal("validate.malformed", f"The message cannot be read: {error}.").problem()
    return error_body(None, PARSE_ERROR, f"Parse error: {error}", problem)
