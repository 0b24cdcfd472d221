"""MCPGate: the category decides, every tool reaches outside, and the hints have names of their own."""

from __future__ import annotations

import json

import pytest

from assent.contract.profiles import profile, profile_names
from assent.contract.tool_listing import Claims, read_claims
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools
from support.documents.seed_payloads import compact, definitions, without_contract

CONTRACTS = """
tools:
  gmail_read_email:
    title: Read Email
    description: Fetch a Gmail message by ID and return its headers and body.
    side_effect: read
  gmail_send_email:
    title: Send Email
    description: Compose and send an email via Gmail.
    side_effect: write
    open_world: true
  gmail_delete_email:
    title: Delete Email
    description: Permanently delete a Gmail message by ID.
    side_effect: destructive
"""

PRINTED = {
    "gmail_read_email": """{
  "name": "gmail_read_email",
  "description": "Fetch a Gmail message by ID and return its headers and body.",
  "annotations": {
    "title": "Read Email",
    "readOnly": true,
    "idempotent": true,
    "destructive": false,
    "openWorldHint": true
  }
}""",
    "gmail_send_email": """{
  "name": "gmail_send_email",
  "description": "Compose and send an email via Gmail.",
  "annotations": {
    "title": "Send Email",
    "readOnly": false,
    "idempotent": false,
    "destructive": false,
    "openWorldHint": true
  }
}""",
    "gmail_delete_email": """{
  "name": "gmail_delete_email",
  "description": "Permanently delete a Gmail message by ID.",
  "annotations": {
    "title": "Delete Email",
    "readOnly": false,
    "idempotent": false,
    "destructive": true,
    "openWorldHint": true
  }
}""",
}
# category: read-only, destructive, idempotent, open-world
CATEGORIES = {
    "gmail_read_email": (True, False, True, True),
    "gmail_send_email": (False, False, False, True),
    "gmail_delete_email": (False, True, False, True),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_three_tools_are_printed_byte_for_byte_with_their_historic_names(name: str) -> None:
    tool = definitions(CONTRACTS, "mcpgate", historic_names=True)[name]
    assert compact(without_contract(tool)) == compact(json.loads(PRINTED[name]))


@pytest.mark.parametrize("name", PRINTED)
def test_without_historic_names_the_standard_ones_say_the_same(name: str) -> None:
    claims = read_claims(definitions(CONTRACTS, "mcpgate")[name])
    assert claims == Claims(*CATEGORIES[name])


@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_payloads_are_read_as_what_they_mean_and_reported_as_foreign(name: str) -> None:
    claims = read_claims(json.loads(PRINTED[name]))
    assert claims == Claims(*CATEGORIES[name], foreign=("readOnly", "destructive", "idempotent"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gmail_list_emails", CATEGORIES["gmail_read_email"]),
        ("gmail_search_emails", CATEGORIES["gmail_read_email"]),
        ("gmail_get_email", CATEGORIES["gmail_read_email"]),
        ("gmail_create_draft", CATEGORIES["gmail_send_email"]),
        ("gmail_send_email", CATEGORIES["gmail_send_email"]),
        ("gmail_update_label", CATEGORIES["gmail_send_email"]),
        ("gmail_delete_email", CATEGORIES["gmail_delete_email"]),
        ("gmail_archive_email", CATEGORIES["gmail_delete_email"]),
        ("gmail_remove_label", CATEGORIES["gmail_delete_email"]),
        ("gmailRemoveLabel", CATEGORIES["gmail_delete_email"]),
        ("gmail_get_archive", CATEGORIES["gmail_read_email"]),
    ],
)
def test_the_verb_in_the_name_puts_an_undeclared_tool_into_its_category(name: str, expected: tuple[bool, ...]) -> None:
    definition = {"name": name, "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}}}
    policy = UpstreamPolicy("gmail", profile("mcpgate"), chosen=True)
    (tool,) = compile_tools([definition], {}, policy).tools
    assert read_claims(tool.definition) == Claims(*expected)


def test_other_profiles_have_no_table_of_verbs() -> None:
    assert [name for name in profile_names() if profile(name).verbs] == ["mcpgate"]
