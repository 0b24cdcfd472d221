"""The JSON Schema with which editors check `assent.yaml`."""

from __future__ import annotations

from typing import Any

from assent.config.model import Settings
from assent.contract.schema import DIALECT, FieldDocs, clean_schema
from assent.rules.guards import rule_names


def settings_schema() -> dict[str, Any]:
    """The schema of `assent.yaml`: every key with its type, its default and one sentence.

    The loader checks more: what contradicts, and what a `${NAME}` stands for. Where a number is expected, an editor
    reports such a reference, and the loader accepts it.
    """
    raw = Settings.model_json_schema(by_alias=True, schema_generator=FieldDocs)
    shared = {name: clean_schema(schema) for name, schema in raw.pop("$defs").items()}
    settings = clean_schema(raw)
    settings["properties"]["guards"]["items"] = {
        "type": "object",
        "required": ["rule"],
        "properties": {"rule": {"description": "The name of the guard.", "enum": sorted(rule_names())}},
    }
    head = {"$schema": DIALECT, "title": "Assent configuration"}
    return {**head, **settings, "$defs": dict(sorted(shared.items()))}
