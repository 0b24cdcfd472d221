"""Documents and the references between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assent.upstreams.openapi.api import read_api
from assent.upstreams.openapi.document import DocumentError
from assent.upstreams.openapi.references import Unresolved, is_allowed, library_of, load_library
from support.openapi_documents import document, library, ok, parameter


def test_a_reference_is_followed_by_its_pointer() -> None:
    found = library(components={"schemas": {"a/b~c d": {"type": "string"}}})
    place = found.find("#/components/schemas/a~1b~0c%20d", "service.json")
    assert place.value == {"type": "string"}
    assert place.address == "service.json#/components/schemas/a~1b~0c d"


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("#/components/nothing", "does not exist"),
        ("#anchor", "only JSON pointers"),
        ("http://169.254.169.254/latest#/a", "outside the document"),
        ("file:///etc/passwd", "outside the document"),
        ("../other.yaml#/a", "outside the document"),
        ("http://[bad", "not an address|outside"),
        (7, "not text"),
    ],
)
def test_a_reference_that_leads_nowhere_says_so(reference: object, reason: str) -> None:
    with pytest.raises(Unresolved, match=reason):
        library(components={"schemas": {}}).find(reference, "service.json")


def test_references_that_go_round_end() -> None:
    found = library(components={"parameters": {"a": {"$ref": "#/components/parameters/a"}}})
    with pytest.raises(Unresolved, match="form a cycle"):
        found.follow(found.start().at("components", "parameters", "a"))


async def test_nothing_is_fetched_that_is_not_allowed() -> None:
    asked: list[str] = []

    async def fetch(address: str) -> str:
        asked.append(address)
        return "{}"

    paths = {"/a": {"get": {"operationId": "a", "responses": ok({"type": "object", "$ref": "http://10.0.0.1/x#/Y"})}}}
    paths["/b"] = {"get": {"operationId": "b", "parameters": [{"$ref": "file:///etc/passwd"}], "responses": {}}}
    text = json.dumps(document(paths))
    found = library_of(text)
    assert [one.name for one in read_api(found).excluded] == ["b"]
    assert any("output schema was left out" in str(finding) for finding in read_api(found).findings)
    with pytest.raises(DocumentError, match="not on the allow-list"):
        await load_library("http://api.example/openapi.json", fetch=fetch, allow=["http://other.example/"])
    assert asked == []


async def test_allowed_documents_are_fetched_once_and_referred_to(tmp_path: Path) -> None:
    texts = {
        "https://specs.example/parts.yaml": "Order: {$ref: 'more.yaml#/Order'}\nId: {$ref: '#/Order'}\n",
        "https://specs.example/more.yaml": "Order: {type: object, properties: {n: {type: integer}}}\n",
    }
    asked: list[str] = []

    async def fetch(address: str) -> str:
        asked.append(address)
        return texts[address]

    schema = {"$ref": "https://specs.example/parts.yaml#/Order"}
    outside = {"$ref": "https://evil.example/x.json#/Order"}
    paths = {
        "/a": {"get": {"operationId": "a", "responses": ok(schema)}},
        "/b": {"get": {"operationId": "b", "parameters": [parameter("x", "query", outside)], "responses": ok()}},
    }
    file = tmp_path / "api.json"
    file.write_text(json.dumps(document(paths)))
    found = await load_library(file, fetch=fetch, allow=["https://specs.example/"])
    assert sorted(asked) == sorted(texts)
    read = read_api(found)
    assert read.tools["a"].definition["outputSchema"] == {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
    }
    assert [one.reason for one in read.excluded] == [
        "it refers to 'https://evil.example/x.json#/Order', and that address is not on the allow-list"
    ]


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://a.example/specs/x.json", True),
        ("https://a.example/one.json", True),
        ("https://a.example/one.json/more", False),
        ("https://a.example/specs/../secrets", False),
        ("https://a.example/specs/%2e%2e/secrets", False),
        ("https://a.example.evil/specs/x.json", False),
        ("https://u@a.example/specs/x.json", False),
        ("https://a.example/specs/..\\secrets", False),
        ("http://a.example/specs/x.json", False),
        ("file:///specs/x.json", False),
    ],
)
def test_the_allow_list_means_what_it_says(address: str, allowed: bool) -> None:
    assert is_allowed(address, ["https://a.example/specs/", "https://a.example/one.json"]) is allowed


async def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"missing\.yaml: cannot be read"):
        await load_library(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"openapi: \xff")
    with pytest.raises(DocumentError, match="not UTF-8"):
        await load_library(tmp_path / "latin.yaml")
