"""What does a JSON-RPC message look like on the wire?"""

from typing import Any

import orjson
from mcp_types import PARSE_ERROR

from assent.core.outcome import Refusal

RequestId = str | int


class RpcError(Exception):
    """An answer that is a JSON-RPC error; the HTTP status follows from the code and the era."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def result_body(request_id: RequestId, result: bytes) -> bytes:
    """An answer around a result that is JSON already."""
    if request_id.__class__ is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request_id, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(request_id), result)


def error_body(request_id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def malformed_body(error: ValueError) -> bytes:
    """The answer to what is no JSON that every parser would read alike."""
    problem = Refusal("validate.malformed", f"The message cannot be read: {error}.").problem()
    return error_body(None, PARSE_ERROR, f"Parse error: {error}", problem)
