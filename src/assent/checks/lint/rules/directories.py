"""Rules of the directories of Anthropic and OpenAI."""

from __future__ import annotations

from collections.abc import Iterator

from assent.checks.lint.edit import Edit, put
from assent.checks.lint.rule import DESTRUCTIVE, OPEN_WORLD, READ_ONLY, RawFinding
from assent.checks.lint.target import LintedTool
from assent.contract.infer.features.parameters import read_parameters
from assent.contract.infer.lexicon import READING
from assent.contract.tiers import Tier

_HARMLESS = ("read", "compute")


def check_anthropic_destructive(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.destructive is not False or tool.claims.read_only or not tool.confident:
        return
    if tool.tier not in _HARMLESS and not tool.inference.read_only:
        yield RawFinding("destructiveHint is false, but it changes something", DESTRUCTIVE)


def check_anthropic_hints(tool: LintedTool) -> Iterator[RawFinding]:
    claims = tool.claims
    if claims.read_only is None and claims.destructive is None:
        yield RawFinding("it has neither readOnlyHint nor destructiveHint", "/annotations")
    elif not claims.read_only and claims.destructive is None:
        yield RawFinding("it is not read-only and has no destructiveHint", DESTRUCTIVE)


_SAFE = {"GET", "HEAD", "OPTIONS"}


def check_anthropic_mixed(tool: LintedTool) -> Iterator[RawFinding]:
    choices = read_parameters(tool.definition.get("inputSchema")).choices
    reads = [choice.verb for choice in choices if choice.kind in READING]
    acts = [choice.verb for choice in choices if choice.kind not in READING and choice.certain]
    if reads and acts:
        yield RawFinding(f"it can {reads[0]} and {acts[0]}, as an argument says", "/inputSchema")
        return
    for field in tool.inputs:
        offered = {str(value).upper() for part in field.options for value in part.get("enum") or ()}
        if field.plain in ("method", "http_method", "verb") and offered & _SAFE and offered - _SAFE:
            yield RawFinding(f"{field.name} offers safe and unsafe HTTP methods", f"/inputSchema{field.pointer}")


def check_anthropic_name(tool: LintedTool) -> Iterator[RawFinding]:
    if len(tool.name) > 64:
        yield RawFinding(f"the name has {len(tool.name)} characters; 64 are allowed", "/name")


def check_anthropic_title(tool: LintedTool) -> Iterator[RawFinding]:
    inside = tool.annotations.get("title")
    if not (isinstance(inside, str) and inside.strip()):
        yield RawFinding("annotations.title is missing", "/annotations/title")
    if not tool.title.strip():
        yield RawFinding("title is missing", "/title")


def mend_anthropic_title(tool: LintedTool, at: str) -> Iterator[Edit]:
    inside = tool.annotations.get("title")
    if tool.contract is None and at == "/title" and isinstance(inside, str) and inside.strip():
        yield put(inside, "title")
    elif tool.contract is None and at != "/title" and tool.title.strip():
        yield put(tool.title, "annotations", "title")


def check_openai_destructive(tool: LintedTool) -> Iterator[RawFinding]:
    inference = tool.inference
    if tool.claims.destructive is False and not tool.claims.read_only and tool.confident:
        if inference.destructive:
            yield RawFinding("destructiveHint is false, but some mode of it erases", DESTRUCTIVE)
        elif inference.overwrites:
            yield RawFinding("destructiveHint is false, but it replaces what was there", DESTRUCTIVE)
        elif tool.tier is Tier.EXTERNAL_SPEND:
            yield RawFinding("destructiveHint is false, but it moves money or credits", DESTRUCTIVE)


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


def check_openai_open_world(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.open_world is not False or tool.claims.read_only or not tool.confident:
        return
    if tool.tier in ("share_export", "external_spend") or tool.inference.labels.public_sink:
        yield RawFinding("openWorldHint is false, but it changes something outside the account", OPEN_WORLD)


def check_openai_read_only(tool: LintedTool) -> Iterator[RawFinding]:
    if tool.claims.read_only and not tool.inference.read_only:
        yield RawFinding(f"it claims to be read-only, and a reviewer will ask why: {tool.because}", READ_ONLY)


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
