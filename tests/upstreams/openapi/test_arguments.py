"""Arguments and where they go."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from assent.upstreams.openapi.tools import ApiTool
from support.openapi.documents import api, ok, parameter, ref, sending


def tool(path: str = "/x", method: str = "post", *, more: Any = None, **operation: Any) -> ApiTool:
    found = api({path: {method: {"operationId": "it", "responses": ok(), **operation}}}, **(more or {}))
    assert not found.excluded, found.excluded
    return found.tools["it"]


def places(made: ApiTool) -> dict[str, tuple[str, str]]:
    return {slot.argument: (slot.location, slot.name) for slot in made.arguments.slots}


FIELDS = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name"],
}


def test_parameters_and_fields_of_the_body_stand_side_by_side() -> None:
    made = tool(
        "/x/{id}",
        parameters=[
            parameter("id", "path"),
            parameter("page", "query", {"type": "integer"}, description="Which page."),
        ],
        requestBody=sending(FIELDS),
    )
    assert places(made) == {
        "id": ("path", "id"),
        "page": ("query", "page"),
        "name": ("field", "name"),
        "size": ("field", "size"),
    }
    schema = made.definition["inputSchema"]
    assert schema["required"] == ["id", "name"]
    assert schema["properties"]["page"] == {"type": "integer", "description": "Which page."}
    assert schema["additionalProperties"] is False


def test_the_same_name_in_two_places_is_told_apart() -> None:
    parameters = [
        parameter("id", "path"),
        parameter("id", "query"),
        parameter("name", "query"),
        parameter("id", "cookie"),
    ]
    made = tool("/x/{id}", parameters=parameters, requestBody=sending(FIELDS))
    assert places(made) == {
        "id__path": ("path", "id"),
        "id__query": ("query", "id"),
        "name__query": ("query", "name"),
        "id__cookie": ("cookie", "id"),
        "name": ("field", "name"),
        "size": ("field", "size"),
    }


def test_a_name_that_is_taken_even_so_gets_another() -> None:
    fields = {"type": "object", "properties": {"id": {}, "id__query": {}}}
    made = tool(parameters=[parameter("id", "query")], requestBody=sending(fields))
    assert places(made)["id__query_"] == ("query", "id")


def test_odd_names_become_names_every_model_takes() -> None:
    made = tool(
        method="get",
        parameters=[parameter("filter[status]", "query"), parameter("$top", "query"), parameter("#", "query")],
    )
    assert places(made) == {
        "filter_status": ("query", "filter[status]"),
        "top": ("query", "$top"),
        "query": ("query", "#"),
    }


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Cookie",
        "X-API-Key",
        "x-api-key",
        "X-Auth-Token",
        "Proxy-Authorization",
        "X-Amz-Security-Token",
        "Idempotency-Key",
        "idempotency-key",
        "Host",
        "Content-Length",
        "Content-Type",
        "Accept",
        "Transfer-Encoding",
        "X-Forwarded-For",
        "X-HTTP-Method-Override",
        "X-Original-URL",
        "X-Company",
    ],
)
def test_credentials_keys_and_framing_are_never_arguments(name: str) -> None:
    schemes = {"company": {"type": "apiKey", "in": "header", "name": "X-Company"}}
    found = api(
        {
            "/x": {
                "get": {
                    "operationId": "it",
                    "parameters": [parameter(name, "header"), parameter("X-Trace", "header")],
                    "responses": ok(),
                }
            }
        },
        components={"securitySchemes": schemes},
    )
    assert list(found.tools["it"].definition["inputSchema"]["properties"]) == ["X-Trace"]


def test_credentials_in_queries_and_cookies_are_no_arguments_either() -> None:
    schemes = {
        "a": {"type": "apiKey", "in": "query", "name": "api_key"},
        "b": {"type": "apiKey", "in": "cookie", "name": "session"},
    }
    parameters = [parameter("api_key", "query"), parameter("session", "cookie"), parameter("session", "query")]
    made = tool(method="get", parameters=parameters, more={"components": {"securitySchemes": schemes}})
    assert places(made) == {"session": ("query", "session")}


@pytest.mark.parametrize(
    ("name", "location"),
    [("api_key", "query"), ("access_token", "query"), ("client_secret", "query"), ("JSESSIONID", "cookie"),
     ("connect.sid", "cookie"), ("auth_token", "cookie")],
)  # fmt: skip
def test_what_is_named_like_a_credential_is_no_argument_though_no_scheme_declares_it(name: str, location: str) -> None:
    assert places(tool(method="get", parameters=[parameter(name, location), parameter("page_token", "query")])) == {
        "page_token": ("query", "page_token")
    }


def test_a_body_that_is_not_a_plain_object_is_one_argument() -> None:
    for schema in (
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "object"}, {"type": "null"}]},
        {"type": "object"},
        {**FIELDS, "minProperties": 2},
        {"allOf": [FIELDS]},
        {**FIELDS, "required": ["name", "other"]},
    ):
        made = tool(requestBody=sending(schema))
        assert places(made) == {"body": ("body", "body")}
        assert made.definition["inputSchema"]["required"] == ["body"]


def test_a_body_that_may_be_left_out_keeps_its_rules() -> None:
    assert places(tool(requestBody=sending(FIELDS, required=False))) == {"body": ("body", "body")}
    loose = {"type": "object", "properties": {"note": {"type": "string"}}}
    made = tool(requestBody=sending(loose, required=False))
    assert places(made) == {"note": ("field", "note")}
    assert "required" not in made.definition["inputSchema"]


def test_a_body_that_allows_further_fields_allows_further_arguments() -> None:
    made = tool(requestBody=sending({**FIELDS, "additionalProperties": {"type": "string"}}))
    assert made.arguments.open_body
    check = jsonschema_rs.validator_for(made.definition["inputSchema"])
    assert check.is_valid({"name": "a", "colour": "red"})
    assert not check.is_valid({"name": "a", "colour": 1})


def test_a_body_by_reference_that_is_recursive_still_stands_side_by_side() -> None:
    node = {"type": "object", "properties": {"label": {"type": "string"}, "next": ref("Node")}}
    made = tool(requestBody=sending(ref("Node")), more={"components": {"schemas": {"Node": node}}})
    schema = made.definition["inputSchema"]
    assert schema["properties"]["next"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"] == {
        "Node": {**node, "properties": {"label": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}
    }


@pytest.mark.parametrize("value", ["", ".", "..", "...", "a/b", "/", "..\\x", "../x"])
def test_a_path_value_that_is_not_one_segment_does_not_fit_the_schema(value: str) -> None:
    for schema in (
        {"type": "string"},
        {"type": "string", "pattern": "^[./a-z\\\\]*$"},
        {"type": "string", "minLength": 1},
    ):
        made = tool("/x/{id}", "get", parameters=[parameter("id", "path", schema)])
        check = jsonschema_rs.validator_for(made.definition["inputSchema"])
        assert not check.is_valid({"id": value})
        assert check.is_valid({"id": "a.b"})


def test_a_header_value_of_two_lines_does_not_fit_the_schema() -> None:
    made = tool(method="get", parameters=[parameter("X-Trace", "header")])
    check = jsonschema_rs.validator_for(made.definition["inputSchema"])
    assert check.is_valid({"X-Trace": "fine"})
    assert not check.is_valid({"X-Trace": "a\r\nX-Evil: 1"})


def test_a_parameter_the_path_names_is_there_even_if_nobody_declared_it() -> None:
    found = api(
        {"/x/{id}": {"get": {"operationId": "it", "parameters": [parameter("other", "path")], "responses": ok()}}}
    )
    assert places(found.tools["it"]) == {"id": ("path", "id")}
    assert [finding.message for finding in found.findings] == [
        "the path parameter 'id' is not declared and is read as text",
        "the path parameter 'other' is not in the path and was left out",
    ]


def test_files_of_a_form_are_given_as_base64() -> None:
    schema = {
        "type": "object",
        "properties": {"photo": {"type": "string", "format": "binary"}, "note": {"type": "string"}},
    }
    made = tool(requestBody=sending(schema, "multipart/form-data"))
    assert made.definition["inputSchema"]["properties"]["photo"] == {"type": "string", "contentEncoding": "base64"}
    assert [slot.binary for slot in made.arguments.slots] == [True, False]
