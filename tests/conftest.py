"""What every test shares: asyncio, and the long form of the suites."""

from __future__ import annotations

import pytest

# Asserts of the public suite of stores say what differed.
pytest.register_assert_rewrite("assent.testing.stores")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", default=False, help="run the long form of the soak suites")
    parser.addoption("--part", type=int, default=1, metavar="N", help="with --torture: one round of every N")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
