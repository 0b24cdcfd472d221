"""The reference page of the policy schema."""

from __future__ import annotations

from assent.rules.policy.argument_types import argument_types
from assent.rules.policy.schema import call_schema, reference_table

_EXAMPLE = {
    "type": "object",
    "required": ["item"],
    "properties": {
        "item": {"type": "string"},
        "amount": {"type": "number"},
        "to": {"type": "array", "items": {"type": "string"}},
    },
}


def policy_page() -> str:
    """The attributes that policies can read, and the schema of one tool as an example."""
    return (
        "# Policy schema\n\n"
        "Policies are written in Cedar and validated strictly against a schema that is generated from your contracts. "
        "[Policies](../policy.md) explains how they decide.\n\n"
        f"## Attributes\n\n{reference_table()}\n\n"
        "## The schema of one tool\n\n"
        "A tool `place_order` of the tier `external_spend` that takes `item` (text, required), `amount` (number) and "
        "`to` (list of texts) gets this schema:\n\n"
        f"```cedarschema\n{call_schema('place_order', 'external_spend', argument_types(_EXAMPLE))}\n```\n"
    )
