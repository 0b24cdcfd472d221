"""The reference upstream, and each of our fronts before it, as running servers."""

from collections.abc import Iterator

import pytest

from support.processes.servers import running


@pytest.fixture(scope="session")
def upstream_url() -> Iterator[str]:
    with running("support.conformance.upstream") as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="session")
def merged_url(upstream_url: str) -> Iterator[str]:
    """The gateway in front of several upstreams, with sessions of its own."""
    with running("support.conformance.governed", upstream_url, "merged") as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="session", params=["plain_relay", "gateway", "governed"])
def front_url(request: pytest.FixtureRequest, upstream_url: str) -> Iterator[str]:
    with running(f"support.conformance.{request.param}", upstream_url) as port:
        yield f"http://127.0.0.1:{port}/mcp"
