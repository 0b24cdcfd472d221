"""The reference page of the HTTP API."""

from __future__ import annotations

from itertools import groupby

from docs.site.reference.keys import keys_table

from assent.people.api.openapi import ALL
from assent.people.api.operation import Operation


def http_api_page() -> str:
    """Every operation with what it takes and how it can be refused."""
    head = (
        "# HTTP API\n\n"
        "Every operation under `/api/`. [How to use the API](../api.md) explains authentication, roles and lists in "
        "pages. A running gateway serves the OpenAPI 3.1 document at `/api/openapi.json`. The routes, that document "
        "and this page come from one table. A GET takes its parameters in the query. A POST takes a JSON body; `{}` "
        "if it needs nothing.\n"
    )
    groups = groupby(ALL, key=lambda one: one.path.split("/")[2])
    sections = "".join(f"\n## {_title(name)}\n" + "".join(map(_section, routes)) for name, routes in groups)
    return f"{head}{sections}\nAll codes are on the page [Refusals](refusals.md).\n"


def _title(name: str) -> str:
    return "The document" if name == "openapi.json" else name.capitalize()


def _section(route: Operation) -> str:
    lines = ["", f"### {route.method} {route.path}", "", f"{route.says} For: {route.who}.", ""]
    schema = route.schema("query" if route.method == "GET" else "body")
    if schema.get("properties"):
        lines += [keys_table(schema), ""]
    codes = ", ".join(f"`{code}`" for code in dict.fromkeys(route.refusals))
    return "\n".join([*lines, *([f"Refused with {codes}.", ""] if codes else [])])
