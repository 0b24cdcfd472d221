"""Is what a person must copy from a list whole, also in a narrow terminal?"""

from io import StringIO

import pytest
from rich.console import Console

from assent.cli.shared.options import print_table


@pytest.mark.parametrize("width", [30, 60, 80])
def test_what_the_next_command_is_given_stands_whole_in_one_line(width: int) -> None:
    told = StringIO()
    rows = [("assent_483e7997", "bot", "agent", "acme", "orders:* files:read", "2026-11-16 05:59")]
    print_table(("key", "name", "kind", "tenant", "scopes", "created"), rows, Console(file=told, width=width))
    assert any("assent_483e7997" in line for line in told.getvalue().splitlines())
    assert "…" not in told.getvalue()
