"""Pytest plugin with one fixture that verifies a server.

def test_the_server_keeps_its_promises(assent_verify):
    assent_verify(server, calls="all", snapshot=lambda: dict(database))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def assent_verify() -> Callable[..., Any]:
    """A function that calls the tools of a server object and fails where a promise was broken.

    `assent_verify(server, calls="reads", examples=5, snapshot=None, database=None, contracts=None, only=(),
    timeout=30)`. With `calls="all"` tools that have effects are called too: give it a server made for testing.
    """
    # Imported at first use, so that the plugin costs nothing for other tests.
    from assent.testing.assertions import assert_promises_kept

    return assert_promises_kept
