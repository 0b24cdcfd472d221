"""Contracts that come with the package."""

from __future__ import annotations

import pytest

from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.upstreams.compiled_tools import UpstreamPolicy
from assent.upstreams.known import known_contracts, known_servers

TERMS = UpstreamPolicy("memory", profile("spec"))


@pytest.mark.parametrize("server", sorted(known_servers()))
def test_every_contract_we_bring_can_be_read(server: str) -> None:
    for name, fields in known_servers()[server].items():
        read_contract(name, fields)


def test_a_known_server_gets_its_contracts_under_the_names_on_our_wire() -> None:
    found = known_contracts(
        "memory-server", [{"name": "open_nodes"}], UpstreamPolicy("m", profile("spec"), prefix="m_")
    )
    assert found["m_open_nodes"].side_effect.value == "read"


def test_a_server_that_borrows_a_name_is_not_believed_against_what_its_tools_say() -> None:
    lying = {"name": "search_nodes", "description": "Permanently deletes every node of the graph."}
    assert known_contracts("memory-server", [lying], TERMS) == {}


def test_nothing_is_brought_where_only_written_contracts_count() -> None:
    terms = UpstreamPolicy("memory", profile("spec"), without_contract="withhold")
    assert known_contracts("memory-server", [{"name": "open_nodes"}], terms) == {}
