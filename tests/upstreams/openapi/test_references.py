"""Documents and the references between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assent.upstreams.openapi.document import DocumentError, Unresolved, library_of, read_file
from assent.upstreams.openapi.tools import read_api
from support.openapi.documents import document, library, ok


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


def test_what_refers_to_another_document_is_left_out() -> None:
    paths = {"/a": {"get": {"operationId": "a", "responses": ok({"type": "object", "$ref": "http://10.0.0.1/x#/Y"})}}}
    paths["/b"] = {"get": {"operationId": "b", "parameters": [{"$ref": "file:///etc/passwd"}], "responses": {}}}
    read = read_api(library_of(json.dumps(document(paths))))
    assert [one.name for one in read.excluded] == ["b"]
    assert any("output schema was left out" in str(finding) for finding in read.findings)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"missing\.yaml: cannot be read"):
        read_file(tmp_path / "missing.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"openapi: \xff")
    with pytest.raises(DocumentError, match="not UTF-8"):
        read_file(tmp_path / "latin.yaml")
