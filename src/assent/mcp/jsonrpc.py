"""Builds JSON-RPC messages."""

from typing import Any

import orjson
from mcp_types import PARSE_ERROR

from assent.core.outcome import Refusal

RequestId = str | int


class RpcError(Exception):
    """A JSON-RPC error response; the HTTP status follows from the code and the era."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


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
