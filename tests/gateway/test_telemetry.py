"""Spans and durations reach a collector that decodes OTLP, named and marked as the conventions say."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.clients.transports import over_http
from support.gateway.gateways import Shop, configuration, post, rpc
from support.processes.servers import commanded
from support.servers.loopback_server import serving

ERROR = 2
SERVER, CLIENT = 2, 3


class Collector:
    """A receiver of OTLP over HTTP. A silent one takes requests and does not answer before `over`."""

    def __init__(self, silent: bool = False) -> None:
        self.spans: list[Any] = []
        self.metrics: list[Any] = []
        self.silent, self.reached, self.over = silent, asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.reached.set()
        if self.silent:
            await self.over.wait()
        if scope["path"].endswith("/v1/traces"):
            asked = ExportTraceServiceRequest.FromString(body)
            self.spans += [span for one in asked.resource_spans for part in one.scope_spans for span in part.spans]
        elif scope["path"].endswith("/v1/metrics"):
            sent = ExportMetricsServiceRequest.FromString(body)
            self.metrics += [m for one in sent.resource_metrics for part in one.scope_metrics for m in part.metrics]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def attributes(thing: Any) -> dict[str, str]:
    return {one.key: one.value.string_value for one in thing.attributes}


def written(folder: Path, shop: str, collector: str) -> Path:
    file = folder / "assent.yaml"
    address = collector.removesuffix("/mcp")
    file.write_text(configuration(folder, {"shop": {"url": shop}}, telemetry={"otlp": address}))
    return file


async def test_calls_lists_and_relayed_requests_are_spans_with_their_errors(tmp_path: Path) -> None:
    collector, shop = Collector(), Shop()

    @shop.server.tool()
    def get_broken() -> str:
        """Gets what is broken."""
        raise ValueError("no")

    async with serving(collector) as receiver, over_http(shop.server) as upstream:
        file = written(tmp_path, upstream, receiver)
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            for name, arguments in (("list_orders", {"limit": 1}), ("get_broken", {}), ("delete_order", {})):
                await post(url, rpc("tools/call", name=name, arguments=arguments))
            await post(url, rpc("tools/call", name="text of the caller", arguments={}))
            for method in ("tools/list", "resources/list", "text/of_the_caller"):
                await post(url, rpc(method))
            command.process.send_signal(signal.SIGTERM)
            await command.said("Stopped")
    served = {span.name: span for span in collector.spans if span.kind == SERVER}
    assert {"tools/call list_orders", "tools/call get_broken", "tools/list", "resources/list"} <= served.keys()
    assert not any("caller" in name for name in served)
    good, broken = served["tools/call list_orders"], served["tools/call get_broken"]
    assert attributes(good) == {
        "mcp.method.name": "tools/call",
        "rpc.system": "jsonrpc",
        "gen_ai.operation.name": "execute_tool",
        "mcp.protocol.version": "2025-03-26",
        "jsonrpc.request.id": "1",
        "gen_ai.tool.name": "list_orders",
        "assent.outcome": "answered",
    }
    assert (good.status.code, broken.status.code) == (0, ERROR)
    assert attributes(broken)["error.type"] == "tool_error"
    refused = served["tools/call delete_order"]
    assert (refused.status.code, attributes(refused)["error.type"].partition(".")[0]) == (ERROR, "validate")
    unknown = next(s for s in collector.spans if attributes(s).get("error.type") == "discover.unknown_tool")
    assert unknown.name == "tools/call"
    (sent,) = [s for s in collector.spans if s.kind == CLIENT and s.name == "tools/call list_orders"]
    assert (sent.trace_id, sent.parent_span_id) == (good.trace_id, good.span_id)
    assert attributes(sent)["server.address"] == "shop"
    (durations,) = [metric for metric in collector.metrics if metric.name == "mcp.server.operation.duration"]
    points = [attributes(point) for point in durations.histogram.data_points]
    assert durations.unit == "s"
    assert any(p.get("gen_ai.tool.name") == "get_broken" and p.get("error.type") == "tool_error" for p in points)


async def test_a_collector_that_never_answers_delays_no_call_and_no_stop_for_long(tmp_path: Path) -> None:
    collector = Collector(silent=True)
    async with serving(collector) as receiver, over_http(Shop().server) as upstream:
        file = written(tmp_path, upstream, receiver)
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            url = (await command.said(r"at (http\S+/mcp)"))[1]
            await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 2}))
            await asyncio.wait_for(collector.reached.wait(), 60)
            begun = time.monotonic()
            answer = await post(url, rpc("tools/call", name="list_orders", arguments={"limit": 1}))
            assert not answer.json()["result"].get("isError") and time.monotonic() - begun < 5
            command.process.send_signal(signal.SIGTERM)
            await command.said("Stopped")
        collector.over.set()
