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
    """The gateway in front of several upstreams."""
    with running("support.conformance.governed", upstream_url, "merged") as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="session")
def front_url(upstream_url: str) -> Iterator[str]:
    """The gateway in front of one upstream."""
    with running("support.conformance.governed", upstream_url) as port:
        yield f"http://127.0.0.1:{port}/mcp"
