"""Does a tool ask for data that OpenAI's directory forbids?"""

from __future__ import annotations

from collections.abc import Iterator

from assent.lint.rule import Rule, Said
from assent.lint.target import Subject

_SENSITIVE = frozenset(
    [
        "ssn",
        "social_security_number",
        "passport_number",
        "national_id",
        "tax_id",
        "drivers_license",
        "card_number",
        "credit_card",
        "cvv",
        "cvc",
        "pan",
        "mfa_code",
        "otp",
        "pin",
        "diagnosis",
        "medical_record",
        "fingerprint",
        "biometric",
    ]
)


def check(tool: Subject) -> Iterator[Said]:
    for field in tool.inputs:
        if field.plain in _SENSITIVE or (field.secret and field.is_a("string")):
            yield Said(f"{field.name} asks for data that must not pass through a tool", f"/inputSchema{field.pointer}")


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
        {"name": "login", "inputSchema": {"type": "object", "properties": {"password": {"type": "string"}}}},
    ),
    passes=({"name": "pay", "inputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}}},),
)
