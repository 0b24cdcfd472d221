"""Our own names, numbers and header rules of the protocol are those of the SDK."""

from __future__ import annotations

import os
from typing import Any, get_args

import mcp_types
import pytest
from mcp.client.stdio import get_default_environment
from mcp.shared import inbound
from mcp_types import methods, version

from assent.core.tool import header_names
from assent.mcp import protocol
from assent.mcp.mirrored_headers import encode_header_value, mirror_arguments
from assent.upstreams.stdio.process import inherited_environment

RENAMED: dict[str, Any] = {
    "CLIENT_METHODS": methods.SPEC_CLIENT_METHODS,
    "CLIENT_NOTIFICATIONS": methods.SPEC_CLIENT_NOTIFICATION_METHODS,
    "LOG_LEVELS": get_args(mcp_types.LoggingLevel),
}


def test_every_constant_is_the_sdks() -> None:
    ours = {name: value for name, value in vars(protocol).items() if name.isupper()}
    theirs = {name: getattr(source, name) for source in (inbound, version, mcp_types) for name in dir(source)}
    assert len(ours) > 20
    assert ours == {name: RENAMED.get(name, theirs.get(name)) for name in ours}


@pytest.mark.parametrize("value", ["plain", "", " edge", "edge ", "a b", "ü", "a\nb", "=?base64?eA==?=", "=?base64?"])
def test_a_header_value_is_encoded_as_the_sdk_does(value: str) -> None:
    assert encode_header_value(value) == inbound.encode_header_value(value)


def test_arguments_are_mirrored_as_the_sdk_does() -> None:
    text, whole = {"type": "string", "x-mcp-header": "Region"}, {"type": "integer", "x-mcp-header": "Count"}
    inner = {"type": "object", "properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}}}
    listed = {"type": "array", "items": {"properties": {"off": {"type": "string", "x-mcp-header": "Off"}}}}
    properties = {"region": text, "count": whole, "inner": inner, "listed": listed, "odd": True}
    schema = {"type": "object", "properties": properties, "x-mcp-header": "Root"}
    names = header_names(schema)
    assert names == inbound.x_mcp_header_map(schema) != {}
    given: list[dict[str, Any]] = [
        {"region": "eu", "count": 3, "inner": {"deep": True}},
        {"region": None, "count": 10**5000, "inner": "flat"},
        {"region": ["eu"], "count": 1.5, "inner": {"deep": "zü"}},
    ]
    for arguments in given:
        assert mirror_arguments(names, arguments) == inbound.mcp_param_headers(names, arguments)
    assert header_names(True) == inbound.x_mcp_header_map(True) == {}


def test_a_server_inherits_the_variables_that_the_sdks_client_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "() { :; }")
    assert inherited_environment() == get_default_environment()
    assert inherited_environment()["PATH"] == os.environ["PATH"]
