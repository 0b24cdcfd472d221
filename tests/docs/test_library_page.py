"""The library page names every option of `Assent` and `GovernedClient`, with an example."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from assent import Assent, GovernedClient
from assent.client.options import ClientOptions
from assent.fastmcp import Assent as FastMCPAssent

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text("utf-8")
CLIENT = "## The client of your agent"


def options(make: Any) -> set[str]:
    """The names of what a class takes, without those that it passes on."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name for name, one in inspect.signature(make).parameters.items() if one.kind in kinds}


def rows(text: str) -> dict[str, str]:
    """The last cell of every row of a table, by each name in its first cell."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 4:
            found |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[3])
    return found


IN_TESTS = {"now", "new_id", "sleep"}
"""Named in a sentence below the tables."""
SERVER_PART, _, CLIENT_PART = PAGE.partition(CLIENT)


@pytest.mark.parametrize("make", [Assent, FastMCPAssent])
def test_every_option_of_a_server_is_on_the_page_with_an_example(make: Any) -> None:
    described = rows(SERVER_PART)
    assert options(make) - IN_TESTS == described.keys()
    assert all(example.startswith("`") for example in described.values())


def test_every_option_of_the_client_is_on_the_page_with_an_example() -> None:
    described = rows(CLIENT_PART)
    assert (options(GovernedClient) | {one.name for one in fields(ClientOptions)}) - IN_TESTS == described.keys()
    assert all(example.startswith("`") for example in described.values())


def test_the_options_for_tests_are_named() -> None:
    assert all(f"`{name}`" in PAGE for name in IN_TESTS)
