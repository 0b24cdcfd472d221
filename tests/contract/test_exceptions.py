"""A critical tool about which no person is asked is an exception with a written reason, shown wherever it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.contract.contradictions import exception_of
from assent.contract.reader import read_contract
from assent.contract.show import show
from assent.errors import ContractError
from support.console.plain_browser import signed_in
from support.gateway.gateways import shop_gateway

FILE = """tools:
  delete_order:
    side_effect: destructive
    confirmation: {by: none, because: The archive keeps every order.}
"""


@pytest.mark.parametrize("confirmation", [{"by": "none"}, {"by": "none", "because": "  "}])
def test_critical_without_confirmation_needs_a_written_reason(confirmation: dict[str, str]) -> None:
    with pytest.raises(ContractError, match="because"):
        read_contract("wipe", {"side_effect": "destructive", "confirmation": confirmation})


def test_only_a_critical_tool_about_which_no_person_is_asked_is_an_exception() -> None:
    none = {"by": "none", "because": "why not"}
    assert exception_of(read_contract("wipe", {"side_effect": "destructive", "confirmation": none})) is not None
    assert exception_of(read_contract("wipe", {"side_effect": "destructive"})) is None
    assert exception_of(read_contract("share", {"side_effect": "share_export", "confirmation": none})) is None


def test_contract_show_and_lint_show_the_exception(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(FILE)
    shown = CliRunner().invoke(cli, ["contract", "show", str(file)])
    assert "Exception         critical risk, and no person is asked" in shown.output
    assert "The archive keeps every order." in shown.output
    linted = CliRunner().invoke(cli, ["lint", str(file)])
    assert "critical-without-confirmation" in linted.output
    assert linted.exit_code == 1


def test_a_hidden_character_in_the_reason_is_written_out() -> None:
    fields = {"side_effect": "destructive", "confirmation": {"by": "none", "because": "fine\u202e"}}
    assert "fine\\u202e" in show(read_contract("wipe", fields))


async def test_the_console_shows_the_exception(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(FILE)
    contracts = (str(tmp_path / "shop.yaml"),)
    async with shop_gateway(tmp_path, contracts=contracts) as (url, app, _), signed_in(url, app.store) as person:
        page = (await person.get("/console/tools/tool/delete_order")).text
        assert "Exception: critical risk, and no person is asked" in page
        assert "The archive keeps every order." in page
