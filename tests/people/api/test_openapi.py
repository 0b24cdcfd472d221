"""The document says what the API does, in a form that others can read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import jsonschema

from assent.audit.sentences import OUTCOMES
from assent.contract.tiers import Risk
from assent.core.approval import Verdict
from assent.core.claims import State
from assent.core.definition_diff import GRADES
from assent.core.stop_switch import LEVELS, SCOPES
from assent.people.api.approvals import STATES
from assent.people.api.openapi import ALL
from support.gateway.api import DOCUMENT, scene


async def test_the_document_is_there_for_everybody(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        said = await there.get("/api/openapi.json", None)
        assert (said.status, said.json) == (200, DOCUMENT)


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    for reference in re.findall(r"'\$ref': '#/([^']+)'", str(DOCUMENT)):
        found: Any = DOCUMENT
        for part in reference.split("/"):
            found = found[part]
    for path in DOCUMENT["paths"].values():
        for operation in path.values():
            for response in operation["responses"].values():
                for media in response["content"].values():
                    jsonschema.Draft202012Validator.check_schema(media["schema"])
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_operation_has_a_name_of_its_own_and_declares_its_path() -> None:
    names = [route.name for route in ALL]
    assert len(set(names)) == len(names)
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            inside = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert inside == set(re.findall(r"\{(\w+)\}", path))


def test_only_posts_take_a_body_and_every_post_does() -> None:
    assert all((route.body is not None) == (route.method == "POST") for route in ALL)


def words_in(schema: str, field: str) -> set[str]:
    """The words that the document allows in a field of an answer."""
    found = DOCUMENT["components"]["schemas"][schema]["properties"][field]
    return set(found.get("enum", ()))


def test_the_described_answers_have_the_words_of_the_code() -> None:
    assert words_in("Approval", "state") == set(STATES)
    assert words_in("Claim", "state") == {state.value for state in State}
    assert words_in("ActivityLine", "outcome") == set(OUTCOMES)
    assert words_in("Switch", "scope") == set(SCOPES)
    assert words_in("Switch", "level") == set(LEVELS)
    assert words_in("Tool", "risk") == {risk.value for risk in Risk}
    assert words_in("DefinitionChange", "grade") == set(GRADES)
    assert words_in("Decision", "verdict") == set(get_args(Verdict))


def test_every_answer_is_described_once_and_used() -> None:
    described = DOCUMENT["components"]["schemas"]
    assert {one.gives for one in ALL} | {"Problem"} <= described.keys()
    text = str({name: DOCUMENT[name] for name in ("paths", "components")})
    assert [name for name in described if f"'#/components/schemas/{name}'" not in text and name != "NoFields"] == []
