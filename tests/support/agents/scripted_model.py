"""A model on loopback that answers with the next step of a script, in the dialect of each coding agent.

The step is the number of tool results in the request, so a repeated request gets the same answer. A request without
tools (a title, a summary) gets a short text.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = tuple[str, dict[str, Any] | str]
"""The name of a tool and its arguments."""
Event = tuple[str, dict[str, Any]]


@dataclass
class ScriptedModel:
    """The script, the address it is served at, and the requests that came."""

    steps: list[Step]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    pick: Callable[[dict[str, Any], int], Step | None] | None = None
    """Chooses the step instead of the script: gets the request and the number of tool results."""

    def step(self, body: dict[str, Any], number: int) -> Step | None:
        if self.pick is not None:
            return self.pick(body, number)
        return self.steps[number] if number < len(self.steps) else None

    def tool_results(self) -> list[str]:
        """The text of the last request, for looking at what the agent was told."""
        return [json.dumps(one) for one in self.requests]


@contextmanager
def scripted_model(steps: list[Step], **more: Any) -> Iterator[ScriptedModel]:
    model = ScriptedModel(steps, **more)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._send(200, "application/json", b"")

        def do_GET(self) -> None:
            model.paths.append("GET " + self.path)
            listed = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
            self._send(200, "application/json", json.dumps(listed).encode())

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(size) if size else self._chunked()
            model.paths.append("POST " + self.path)
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                body = {}
            model.requests.append(body)
            kind, answer = _answer(model, self.path, body)
            self._send(200, kind, answer)

        def _chunked(self) -> bytes:
            found = b""
            if self.headers.get("transfer-encoding") == "chunked":
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    found += self.rfile.read(size)
                    self.rfile.readline()
            return found

        def _send(self, status: int, kind: str, answer: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def _answer(model: ScriptedModel, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
    path = path.partition("?")[0]
    if path.endswith("count_tokens") or path.endswith(":countTokens"):
        return "application/json", b'{"input_tokens": 10, "totalTokens": 10}'
    if path.endswith("/messages"):
        return _anthropic(model, body)
    if path.endswith("/responses"):
        return _responses(model, body)
    if path.endswith("/chat/completions"):
        return _completions(model, body)
    if "enerateContent" in path:
        return _gemini(model, body, streamed="stream" in path)
    return "application/json", b"{}"


def _sse(events: list[dict[str, Any]], *, named: bool, end: str = "") -> tuple[str, bytes]:
    lines = [(f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one)}\n\n" for one in events]
    return "text/event-stream", ("".join(lines) + end).encode()


def _anthropic(model: ScriptedModel, body: dict[str, Any]) -> tuple[str, bytes]:
    blocks = [b for m in body.get("messages", []) if isinstance(m["content"], list) for b in m["content"]]
    number = sum(1 for b in blocks if b.get("type") == "tool_result")
    step = model.step(body, number) if body.get("tools") else None
    usage = {"input_tokens": 10, "output_tokens": 5}
    if step is None:
        content: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    else:
        content = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": step[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
    stop = "end_turn" if step is None else "tool_use"
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model", "m")}
    if not body.get("stream"):
        whole = {"type": "text", "text": "done"} if step is None else {**content, "input": step[1]}
        done = {**message, "content": [whole], "stop_reason": stop, "stop_sequence": None, "usage": usage}
        return "application/json", json.dumps(done).encode()
    return _sse(
        [
            {
                "type": "message_start",
                "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage},
            },
            {"type": "content_block_start", "index": 0, "content_block": content},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ],
        named=True,
    )


def _responses(model: ScriptedModel, body: dict[str, Any]) -> tuple[str, bytes]:
    given = body.get("input")
    items: list[Any] = given if isinstance(given, list) else []
    number = sum(1 for one in items if str(one.get("type", "")).endswith("_output"))
    step = model.step(body, number) if body.get("tools") else None
    if step is None:
        text = {"type": "output_text", "text": "done", "annotations": []}
        item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"m{number}", "content": [text]}
    elif isinstance(step[1], str):
        item = {"type": "custom_tool_call", "call_id": f"call_{number:04d}", "name": step[0], "input": step[1]}
    else:
        namespace, _, name = step[0].rpartition("/")
        item = {"type": "function_call", "call_id": f"call_{number:04d}", "name": name}
        item |= {"arguments": json.dumps(step[1])} | ({"namespace": namespace} if namespace else {})
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}  # type: ignore[dict-item]
    return _sse(
        [
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": f"resp_{number}", "output": [item], "usage": usage}},
        ],
        named=True,
    )


def _completions(model: ScriptedModel, body: dict[str, Any]) -> tuple[str, bytes]:
    number = sum(1 for one in body.get("messages", []) if one.get("role") == "tool")
    step = model.step(body, number) if body.get("tools") else None
    if step is None:
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
    else:
        function = {"name": step[0], "arguments": json.dumps(step[1])}
        call = {"id": f"call_{number:04d}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "stop" if step is None else "tool_calls"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    head = {"id": f"c{number}", "created": 1, "model": body.get("model", "m")}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return "application/json", json.dumps(whole).encode()
    if step is not None:
        message["tool_calls"][0]["index"] = 0
    head |= {"object": "chat.completion.chunk"}
    first = {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
    return _sse([first, last], named=False, end="data: [DONE]\n\n")


def _gemini(model: ScriptedModel, body: dict[str, Any], *, streamed: bool) -> tuple[str, bytes]:
    parts = [part for one in body.get("contents", []) for part in one.get("parts", [])]
    number = sum(1 for part in parts if "functionResponse" in part)
    step = model.step(body, number) if body.get("tools") else None
    if step is None:
        part: dict[str, Any] = {"text": "done"}
    else:
        part = {"functionCall": {"id": f"call_{number:04d}", "name": step[0], "args": step[1]}}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    }
    if not streamed:
        return "application/json", json.dumps(answer).encode()
    return "text/event-stream", f"data: {json.dumps(answer)}\r\n\r\n".encode()
