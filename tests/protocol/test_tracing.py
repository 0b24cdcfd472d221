"""One trace from the caller through us to the upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags, Tracer, TracerProvider

from assent.mcp.tracing import Tracing, inject_trace_context
from support.gateways import Shop, gateway, post, rpc
from support.loopback_server import serving

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Recorded(NonRecordingSpan):
    """A span that remembers what it was told."""

    def __init__(self, context: SpanContext, parent: SpanContext, name: str) -> None:
        super().__init__(context)
        self.name, self.parent, self.attributes, self.status = name, parent, dict[str, Any](), None

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.status = status


class Recorder(TracerProvider, Tracer):
    """A collector of spans, as small as the interface allows."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    def get_tracer(self, *_: Any, **__: Any) -> Tracer:
        return self

    def start_span(self, name: str, context: Any = None, *_: Any, **__: Any) -> Span:
        parent = trace.get_current_span(context).get_span_context()
        own = SpanContext(parent.trace_id or 1, len(self.spans) + 1, False, TraceFlags(1))
        self.spans.append(Recorded(own, parent, name))
        return self.spans[-1]

    @contextmanager
    def start_as_current_span(self, name: str, context: Any = None, *_: Any, **__: Any) -> Iterator[Span]:  # type: ignore[override]
        with trace.use_span(self.start_span(name, context), record_exception=False) as span:
            yield span


async def through(folder: Path, recorder: Recorder | None, name: str, meta: dict[str, Any], **headers: str) -> Any:
    """What the upstream saw in `_meta` of the call."""
    seen: list[dict[str, Any]] = []
    shop = Shop()
    inner = shop.server.streamable_http_app()

    async def spying(scope: Any, receive: Any, send: Any) -> None:
        async def listening() -> Any:
            message = await receive()
            if b'"tools/call"' in message.get("body", b""):
                seen.append(json.loads(message["body"])["params"].get("_meta", {}))
            return message

        await inner(scope, listening, send)

    async with serving(spying) as upstream, gateway(folder, {"shop": {"url": upstream}}) as (url, gateway_app):
        gateway_app.current.tools._tracing = Tracing(recorder)
        body = rpc("tools/call", name=name, arguments={"limit": 1})
        body["params"]["_meta"] = meta
        await post(url, body, **headers)
    return seen


async def test_without_a_collector_the_callers_context_passes_as_it_is(tmp_path: Path) -> None:
    (seen,) = await through(tmp_path, None, "list_orders", {"traceparent": PARENT, "tracestate": "a=b"})
    assert (seen["traceparent"], seen["tracestate"]) == (PARENT, "a=b")


@pytest.mark.parametrize("where", ["meta", "header"])
async def test_with_one_our_span_stands_between_the_caller_and_the_upstream(where: str, tmp_path: Path) -> None:
    recorder = Recorder()
    said: dict[str, Any] = {"traceparent": PARENT}
    meta, headers = (said, {}) if where == "meta" else ({}, said)
    (seen,) = await through(tmp_path, recorder, "list_orders", meta, **headers)
    (span,) = recorder.spans
    assert (span.name, f"{span.parent.trace_id:032x}") == ("tools/call", TRACE)
    assert span.attributes == {"gen_ai.tool.name": "list_orders", "assent.outcome": "answered"}
    assert seen["traceparent"] == f"00-{TRACE}-{1:016x}-01"


async def test_a_name_that_nobody_has_is_not_an_attribute(tmp_path: Path) -> None:
    recorder = Recorder()
    assert await through(tmp_path, recorder, "read_private_key", {}) == []
    (span,) = recorder.spans
    assert span.attributes == {"assent.outcome": "discover.unknown_tool"}


@pytest.mark.parametrize("broken", ["", "00-zz", 7, None, "x" * 100_000, ["a"]])
async def test_a_broken_context_begins_a_new_trace(broken: Any, tmp_path: Path) -> None:
    recorder = Recorder()
    await through(tmp_path, recorder, "list_orders", {"traceparent": broken})
    assert not recorder.spans[0].parent.is_valid


def test_nothing_is_added_outside_of_a_span() -> None:
    meta = {"a": 1}
    assert inject_trace_context(meta) is meta
