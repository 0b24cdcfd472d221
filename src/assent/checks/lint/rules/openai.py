"""Rules of OpenAI's app directory."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import set_true, write_default
from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import LintedTool
from assent.contract.tiers import Tier


def check_openai_destructive(tool: LintedTool) -> Iterator[RawFinding]:
    inference = tool.inference
    if tool.claims.destructive is False and not tool.claims.read_only and tool.confident:
        if inference.destructive:
            yield RawFinding("destructiveHint is false, but some mode of it erases", "/annotations/destructiveHint")
        elif inference.overwrites:
            yield RawFinding("destructiveHint is false, but it replaces what was there", "/annotations/destructiveHint")
        elif tool.tier is Tier.EXTERNAL_SPEND:
            yield RawFinding("destructiveHint is false, but it moves money or credits", "/annotations/destructiveHint")


OPENAI_DESTRUCTIVE = Rule(
    name="openai-destructive",
    severity="error",
    summary="For OpenAI's app directory a tool is destructive if any mode of it can erase, overwrite or spend.",
    why="Reviewers compare the hint with what the tool can do in any mode.",
    fix="Set destructiveHint to true.",
    profiles=("openai",),
    each=check_openai_destructive,
    mend=set_true,
    flags=(
        {
            "name": "update_note",
            "description": "Replaces the text of a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "place_order",
            "description": "Places an order and charges the card.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False},
        },
        {
            "name": "update_note",
            "description": "Replaces the text of a note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
        },
    ),
)


def check_openai_hints(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    said = {
        "readOnlyHint": claims.read_only,
        "destructiveHint": claims.destructive,
        "openWorldHint": claims.open_world,
    }
    for hint, value in said.items():
        if value is None:
            yield RawFinding(f"{hint} is not set", f"/annotations/{hint}")


OPENAI_HINTS = Rule(
    name="openai-hints",
    severity="error",
    summary="OpenAI's app directory wants readOnlyHint, destructiveHint and openWorldHint on every tool.",
    why="A missing hint blocks the submission, whatever the protocol's default is.",
    fix="Set all three explicitly.",
    profiles=("openai",),
    each=check_openai_hints,
    mend=write_default,
    flags=({"name": "list_notes", "annotations": {"readOnlyHint": True, "destructiveHint": False}},),
    passes=(
        {
            "name": "list_notes",
            "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        },
    ),
)


def check_openai_open_world(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.open_world is not False or tool.claims.read_only or not tool.confident:
        return
    if tool.tier in ("share_export", "external_spend") or tool.inference.labels.public_sink:
        yield RawFinding(
            "openWorldHint is false, but it changes something outside the account", "/annotations/openWorldHint"
        )


OPENAI_OPEN_WORLD = Rule(
    name="openai-open-world",
    severity="error",
    summary="For OpenAI's app directory sending, publishing, sharing and paying are open to the world.",
    why="Reviewers compare the hint with whether anything outside a private system can change.",
    fix="Set openWorldHint to true.",
    profiles=("openai",),
    each=check_openai_open_world,
    mend=set_true,
    flags=(
        {
            "name": "send_email",
            "description": "Sends an email to any recipient.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}},
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        },
    ),
    passes=(
        {
            "name": "create_note",
            "description": "Creates a private note.",
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        },
    ),
)


def check_openai_read_only(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only:
        yield RawFinding(
            f"it claims to be read-only, and a reviewer will ask why: {tool.because}", "/annotations/readOnlyHint"
        )


OPENAI_READ_ONLY = Rule(
    name="openai-read-only",
    severity="error",
    summary="For OpenAI's app directory a tool that enqueues, runs jobs or writes anything is not read-only.",
    why="Reviewers compare the hint with what the tool can do in any mode.",
    fix="Set readOnlyHint to false, or make the description say what is returned.",
    profiles=("openai",),
    each=check_openai_read_only,
    flags=({"name": "start_report", "description": "Starts a report job.", "annotations": {"readOnlyHint": True}},),
    passes=({"name": "list_notes", "description": "Lists notes.", "annotations": {"readOnlyHint": True}},),
)


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


def check_openai_sensitive_input(tool: LintedTool) -> Iterator[RawFinding]:
    for field in tool.inputs:
        named = field.plain in _SENSITIVE and not field.is_a("boolean")  # to pin a message is no such thing
        if named or (field.secret and field.is_a("string")):
            yield RawFinding(
                f"{field.name} asks for data that must not pass through a tool", f"/inputSchema{field.pointer}"
            )


OPENAI_SENSITIVE_INPUT = Rule(
    name="openai-sensitive-input",
    severity="error",
    summary="OpenAI's app directory forbids asking for credentials, card numbers, identity numbers and health data.",
    why="A tool that asks for them is rejected unless its purpose strictly needs them.",
    fix="Take credentials by OAuth and payment by the platform's checkout; remove the field.",
    profiles=("openai",),
    each=check_openai_sensitive_input,
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
