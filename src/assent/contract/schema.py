"""The JSON Schema with which editors check contract files."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from assent.contract.model import TOOL_NAME, Contract


class FieldDocs(GenerateJsonSchema):
    """Describes every field of a model with the docstring under it."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        found, model = super().model_schema(schema), schema["cls"]
        for name, text in _docs_of(model).items():
            found["properties"][model.model_fields[name].alias or name].setdefault("description", text)
        return found


@cache
def _docs_of(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings of the fields, inherited ones included."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__[: model.__mro__.index(BaseModel)]):
        [node] = ast.parse(inspect.getsource(base)).body
        assert isinstance(node, ast.ClassDef)
        for field, said in pairwise(node.body):
            name = field.target if isinstance(field, ast.AnnAssign) else None
            text = said.value.value if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) else None
            if isinstance(name, ast.Name) and isinstance(text, str) and name.id in model.model_fields:
                found[name.id] = " ".join(text.split())
    return found


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TOOL_NAME_OR_PATTERN = TOOL_NAME.replace("[A-", "[*A-")


def contract_schema() -> dict[str, Any]:
    """The schema of a contract file: every field described, only `side_effect` required.

    It checks names, types and values. Only the loader checks contradictions, conditions and schemas. The schema
    accepts everything that the loader accepts.
    """
    raw = Contract.model_json_schema(by_alias=True, schema_generator=FieldDocs)
    shared = {name: clean_schema(schema) for name, schema in raw.pop("$defs").items()}
    contract = clean_schema(raw)
    del contract["properties"]["name"]
    contract["required"] = ["side_effect"]
    for field in contract["properties"].values():
        if "description" not in field:  # Left out if it repeats the description of the part.
            field["description"] = shared[field["$ref"].rpartition("/")[2]]["description"]
    shared["Contract"] = contract
    tools = {
        "description": "A contract for each tool, by the name its upstream gives it, or by the name that clients see. "
        "`*` in a name stands for any characters.",
        "type": "object",
        "propertyNames": {"pattern": _TOOL_NAME_OR_PATTERN},
        "additionalProperties": {"$ref": "#/$defs/Contract"},
    }
    upstream = {"description": "The upstream whose tools these are.", "type": "string", "minLength": 1}
    section = {
        "type": "object",
        "properties": {"upstream": upstream, "tools": tools},
        "required": ["upstream", "tools"],
        "additionalProperties": False,
    }
    sections = {"description": "Contracts for the tools of several upstreams.", "type": "array", "items": section}
    return {
        "$schema": DIALECT,
        "title": "Assent contract file",
        "description": "The contract of each tool: declared once, enforced on every call.",
        "type": "object",
        "properties": {"upstream": upstream, "tools": tools, "sections": sections},
        "anyOf": [{"required": ["tools"]}, {"required": ["sections"]}],
        "dependentRequired": {"upstream": ["tools"]},
        "additionalProperties": False,
        "$defs": dict(sorted(shared.items())),
    }


def clean_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without generated titles and `null` defaults, closed if its keys have a pattern."""
    kept = {key: value for key, value in schema.items() if key != "title" and (key, value) != ("default", None)}
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return {key: _clean_value(key, value) for key, value in kept.items()}


def _clean_value(key: str, value: Any) -> Any:
    if key in ("properties", "patternProperties", "$defs"):
        return {name: clean_schema(inner) for name, inner in value.items()}
    if key in ("items", "additionalProperties", "propertyNames") and isinstance(value, dict):
        return clean_schema(value)
    if key in ("anyOf", "allOf", "prefixItems"):
        return [clean_schema(inner) for inner in value]
    return value
