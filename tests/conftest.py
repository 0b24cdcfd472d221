"""What every test shares: asyncio, and the long form of the suites."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("assent.testing.stores")  # asserts of the public suite say what differed


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", default=False, help="run the long form of the soak suites")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
