"""Finds links and credentials in results that no contract declares a secret."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool


def check(tool: LintedTool) -> Iterator[RawFinding]:
    contract = tool.contract
    declared = contract is not None and (contract.natural or "secrets" in contract.model_fields_set)
    issues = tool.tier == "share_export"
    if declared or not (issues or tool.contract is not None):
        return
    # Whatever the tier is, a result with a password in it shows one.
    shown = [field for field in tool.outputs if (field.issued if issues else field.secret)]
    if shown:
        yield RawFinding(
            f"its result has {shown[0].name}, which is not declared a secret", f"/outputSchema{shown[0].pointer}"
        )
    elif issues and tool.contract is not None and not tool.outputs:
        yield RawFinding("its contract does not say which part of the result is a secret", "secrets")


EXPORT_WITHOUT_SECRET = Rule(
    name="export-without-secret",
    severity="warning",
    summary="A tool issues a link, an export or a credential, and nothing says which part of the result is a secret.",
    why="Undeclared, a retry of a tool that shares gets nothing of its result back, and a retry of any other tool gets "
    "the secret again.",
    fix="Name it by JSON pointer under `secrets:`, declare `natural:` where the same link is meant to come back, or "
    "say `secrets: []` where there is none.",
    each=check,
    flags=(
        {"contracts": {"export_orders": {"side_effect": "share_export"}}},
        {
            "contracts": {
                "get_connection": {
                    "side_effect": "read",
                    "output": {"type": "object", "properties": {"password": {"type": "string"}}},
                }
            }
        },
        {
            "name": "create_share_link",
            "description": "Creates a share link for a file.",
            "outputSchema": {"type": "object", "properties": {"download_token": {"type": "string"}}},
        },
    ),
    passes=(
        {
            "contracts": {
                "list_orders": {
                    "side_effect": "read",
                    "output": {"type": "object", "properties": {"next_page_token": {"type": "string"}}},
                }
            }
        },
        {"contracts": {"export_orders": {"side_effect": "share_export", "secrets": ["/token"]}}},
        {"contracts": {"export_orders": {"side_effect": "share_export", "secrets": []}}},
        {"name": "list_files", "description": "Lists files."},
    ),
)
