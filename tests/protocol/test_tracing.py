"""One trace from the caller through us to the upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from assent.mcp.tracing import TRACING, inject_trace_context
from support.gateway.gateways import Shop, gateway, post, rpc
from support.servers.loopback_server import serving

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """A collector in this process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(TRACING, "_provider", provider)
    TRACING.__dict__.pop("is_on", None)
    yield exporter
    TRACING.__dict__.pop("is_on", None)


async def through(folder: Path, name: str, meta: dict[str, Any], **headers: str) -> Any:
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

    async with serving(spying) as upstream, gateway(folder, {"shop": {"url": upstream}}) as (url, _):
        body = rpc("tools/call", name=name, arguments={"limit": 1})
        body["params"]["_meta"] = meta
        await post(url, body, **headers)
    return seen


async def test_without_a_collector_the_callers_context_passes_as_it_is(tmp_path: Path) -> None:
    (seen,) = await through(tmp_path, "list_orders", {"traceparent": PARENT, "tracestate": "a=b"})
    assert (seen["traceparent"], seen["tracestate"]) == (PARENT, "a=b")


@pytest.mark.parametrize("where", ["meta", "header"])
async def test_with_one_our_spans_stand_between_the_caller_and_the_upstream(
    where: str, recorder: InMemorySpanExporter, tmp_path: Path
) -> None:
    said: dict[str, Any] = {"traceparent": PARENT}
    meta, headers = (said, {}) if where == "meta" else ({}, said)
    (seen,) = await through(tmp_path, "list_orders", meta, **headers)
    sent, served = recorder.get_finished_spans()
    assert (sent.kind, served.kind) == (SpanKind.CLIENT, SpanKind.SERVER)
    assert served.name == sent.name == "tools/call list_orders"
    assert served.parent is not None and f"{served.parent.trace_id:032x}" == TRACE
    assert served.attributes is not None and served.attributes["assent.outcome"] == "answered"
    assert seen["traceparent"] == f"00-{TRACE}-{sent.context.span_id:016x}-01"


async def test_a_name_that_nobody_has_is_not_an_attribute(recorder: InMemorySpanExporter, tmp_path: Path) -> None:
    assert await through(tmp_path, "read_private_key", {}) == []
    (span,) = recorder.get_finished_spans()
    assert span.name == "tools/call"
    assert "read_private_key" not in str(span.attributes)


@pytest.mark.parametrize("broken", ["", "00-zz", 7, None, "x" * 100_000, ["a"]])
async def test_a_broken_context_begins_a_new_trace(broken: Any, recorder: InMemorySpanExporter, tmp_path: Path) -> None:
    await through(tmp_path, "list_orders", {"traceparent": broken})
    assert recorder.get_finished_spans()[-1].parent is None


def test_nothing_is_added_outside_of_a_span() -> None:
    meta = {"a": 1}
    assert inject_trace_context(meta) is meta
