"""Rule: a tool does not ask for data that OpenAI's directory forbids."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool

_SENSITIVE = frozenset(
    (
        *(
            "ssn",
            "social_security_number",
            "passport",
            "passport_number",
            "national_id",
            "national_id_number",
            "tax_id",
        ),
        *("driver_license", "drivers_license", "driver_license_number", "drivers_license_number"),
        *("card_number", "credit_card", "credit_card_number", "cc_number", "cvv", "cvc", "card_cvv", "card_cvc", "pan"),
        *("pin", "diagnosis", "medical_record", "fingerprint", "biometric"),
    )
)


def check(tool: LintedTool) -> Iterator[RawFinding]:
    for field in tool.inputs:
        named = field.plain in _SENSITIVE and not field.is_a("boolean")  # to pin a message is no such thing
        if named or (field.secret and field.is_a("string")):
            yield RawFinding(
                f"{field.name} asks for data that must not pass through a tool", f"/inputSchema{field.pointer}"
            )


RULE = Rule(
    name="openai-sensitive-input",
    severity="error",
    summary="OpenAI's app directory forbids asking for credentials, card numbers, identity numbers and health data.",
    why="A tool that asks for them is rejected unless its purpose strictly needs them.",
    fix="Take credentials by OAuth and payment by the platform's checkout; remove the field.",
    profiles=("openai",),
    each=check,
    flags=(
        {"name": "pay", "inputSchema": {"type": "object", "properties": {"cardNumber": {"type": "string"}}}},
        {"name": "pay", "inputSchema": {"type": "object", "properties": {"credit_card_number": {"type": "string"}}}},
        {"name": "login", "inputSchema": {"type": "object", "properties": {"password": {"type": "string"}}}},
    ),
    passes=(
        {"name": "pay", "inputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}}},
        {"name": "edit_message", "inputSchema": {"type": "object", "properties": {"pin": {"type": "boolean"}}}},
    ),
)
