"""Fields of a schema and the meaning of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from assent.contract.infer.features.words import split_name
from assent.contract.pointers import escaped, local_target

if TYPE_CHECKING:
    from assent.checks.lint.target import LintedTool

_KEYS = frozenset(
    (
        *("idempotency_key", "idempotency_token", "idempotent_key", "dedupe_key", "deduplication_id", "request_id"),
        *("client_token", "client_order_id", "client_request_id", "client_reference_id", "external_id"),
    )
)
_REHEARSALS = frozenset(
    ("dry_run", "dryrun", "preview", "preview_only", "simulate", "validate_only", "what_if", "whatif", "test_mode")
)
_SELECTIONS = frozenset(("filter", "filters", "where", "selector", "all", "everything", "pattern", "glob", "criteria"))
# In a tool without loss these select a place on a page or in a text.
_LOOSE = frozenset(("selector", "pattern", "glob"))
_MANY = frozenset(("items", "records", "files", "paths", "messages", "entries", "documents", "rows", "keys", "names"))


def takes_key(tool: LintedTool) -> bool:
    """Whether a key can identify a repetition, as an argument or by the server's contract."""
    idempotency = tool.projection.get("idempotency")
    if tool.contract is None and isinstance(idempotency, Mapping) and idempotency.get("key") == "required":
        return True
    return any(field.plain in _KEYS for field in tool.inputs)


def rehearses(tool: LintedTool) -> bool:
    """Whether a dry run is possible, by the contract or by an argument."""
    if tool.contract is not None and tool.contract.dry_run.mode != "none":
        return True
    dry_run = tool.projection.get("dry_run")
    if isinstance(dry_run, Mapping) and dry_run.get("mode") in ("offered", "required"):
        return True
    return any(field.plain in _REHEARSALS for field in tool.inputs)


def presses(tool: LintedTool) -> bool:
    """Whether it presses on a screen, so that the loss cannot be known beforehand."""
    return any("live screen" in reason for reason in tool.inference.reasons)


def restarts(tool: LintedTool) -> bool:
    """Whether it only interrupts running work; vendors disagree whether that is destructive."""
    return any("interrupts what runs" in reason for reason in tool.inference.reasons)


def selection(tool: LintedTool) -> Field | None:
    """Return the argument that selects many items; in a tool that only changes, a list is the new value."""
    selects = set(tool.contract.selects) if tool.contract else set()
    loses = tool.inference.destructive or tool.tier == "destructive"
    for field in tool.inputs:
        if not loses and field.pointer.startswith(("/$defs/", "/definitions/")):
            continue  # a filter that is created or changed belongs to the object
        if field.name in selects or (field.plain in _SELECTIONS and (loses or field.plain not in _LOOSE)):
            return field
        if loses and field.is_a("array") and (field.plain.endswith("ids") or field.plain in _MANY):
            return field
    return None


_DEEPEST = 6
_MOST = 2_000
_UNIONS = ("anyOf", "oneOf", "allOf")

_SECRET_WORDS = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "credential", "credentials"),
        *("pat", "apikey", "jwt", "otp", "totp"),
    )
)
_SECRET_NAMES = frozenset(("token", "authorization", "bearer", "session_cookie"))
_SECRET_END = re.compile(
    r"(?:^|_)(?:(?:api|private|secret|access|signing|encryption)_key"
    r"|(?:access|auth|bearer|refresh|api|bot|session|download|share|one_time|id|jwt|oauth|user)_token"
    r"|(?:mfa|otp|auth|totp|fa)_code|connection_string)$"
)
_ISSUED_END = re.compile(r"(?:^|_)(?:token|(?:share|download|signed|presigned|invite|upload)_(?:url|link))$")


@dataclass(frozen=True)
class Field:
    """One property of a schema, with its JSON pointer, name and definition."""

    pointer: str
    name: str
    schema: Mapping[str, Any]
    required: bool

    @cached_property
    def plain(self) -> str:
        """The name in snake case: `dryRun`, `dry-run` and `DryRun` become `dry_run`."""
        return "_".join(split_name(self.name[:64])) or self.name[:64].lower()

    @cached_property
    def options(self) -> tuple[Mapping[str, Any], ...]:
        """The schema itself and the parts of its unions."""
        parts = [self.schema]
        for key in _UNIONS:
            given = self.schema.get(key)
            parts += [part for part in given if isinstance(part, Mapping)] if isinstance(given, list) else []
        return tuple(parts)

    def is_a(self, kind: str) -> bool:
        """Whether values of this JSON type are allowed."""
        return any(kind == part.get("type") or kind in _as_list(part.get("type")) for part in self.options)

    def bounded(self, *keywords: str) -> bool:
        """Whether any of the keywords limits the field."""
        return any(keyword in part for part in self.options for keyword in keywords)

    @property
    def secret(self) -> bool:
        """Whether the name says that the value is a secret."""
        last = self.plain.rpartition("_")[2]
        return self.plain in _SECRET_NAMES or last in _SECRET_WORDS or bool(_SECRET_END.search(self.plain))

    @property
    def issued(self) -> bool:
        """Whether a result field of this name grants access to its holder."""
        return self.secret or bool(_ISSUED_END.search(self.plain))


def fields_of(schema: Any) -> Iterator[Field]:
    """Yield every property of a schema through objects, lists, unions and local references, each followed once.

    The depth is limited.
    """
    return islice(_walk(schema, "", 0, schema, set()), _MOST)


def _walk(schema: Any, pointer: str, depth: int, root: Any, followed: set[str]) -> Iterator[Field]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        required = _as_list(schema.get("required"))
        for name, inner in properties.items():
            here = f"{pointer}/properties/{escaped(str(name))}"
            yield Field(here, str(name), _resolve(inner, root), name in required)
            yield from _walk(inner, here, depth + 1, root, followed)
    yield from _walk(schema.get("items"), f"{pointer}/items", depth + 1, root, followed)
    for key in _UNIONS:
        for index, part in enumerate(_as_list(schema.get(key))):
            yield from _walk(part, f"{pointer}/{key}/{index}", depth + 1, root, followed)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in followed:
        followed.add(reference)
        yield from _walk(_follow_reference(reference, root), reference[1:], depth + 1, root, followed)


def _resolve(schema: Any, root: Any) -> Mapping[str, Any]:
    """Return the property's schema with local references resolved."""
    if not isinstance(schema, Mapping):
        return {}
    if "$ref" in schema:
        schema = {**_follow_reference(schema["$ref"], root), **schema}
    referring = [key for key in _UNIONS if any(map(_has_reference, _as_list(schema.get(key))))]
    parts = {
        key: [{**_follow_reference(one["$ref"], root), **one} if _has_reference(one) else one for one in schema[key]]
        for key in referring
    }
    return {**schema, **parts} if parts else schema


def _has_reference(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "$ref" in schema


def _follow_reference(reference: Any, root: Any) -> Mapping[str, Any]:
    """Return the target of a local reference; empty if it is remote or missing."""
    target = local_target(reference, root)
    return target if isinstance(target, Mapping) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
