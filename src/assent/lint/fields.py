"""Which fields does a schema have, and what do their names amount to?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from assent.infer.features.words import split_name

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
    """One property of a schema, by its JSON pointer, with what it is called and what it allows."""

    pointer: str
    name: str
    schema: Mapping[str, Any]
    required: bool

    @cached_property
    def plain(self) -> str:
        """`dryRun`, `dry-run` and `DryRun` are all `dry_run`."""
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
        return any(kind == part.get("type") or kind in _listed(part.get("type")) for part in self.options)

    def bounded(self, *keywords: str) -> bool:
        """Whether any of the keywords limits the field."""
        return any(keyword in part for part in self.options for keyword in keywords)

    @property
    def secret(self) -> bool:
        """Whether the name says that the value must be kept from others."""
        last = self.plain.rpartition("_")[2]
        return self.plain in _SECRET_NAMES or last in _SECRET_WORDS or bool(_SECRET_END.search(self.plain))

    @property
    def issued(self) -> bool:
        """Whether a result of this name lets whoever holds it in."""
        return self.secret or bool(_ISSUED_END.search(self.plain))


def fields_of(schema: Any) -> Iterator[Field]:
    """Every property of a schema, through objects, lists, unions and its own references, each of these followed once.

    There is a bound that nobody reaches by hand.
    """
    return islice(_walk(schema, "", 0, schema, set()), _MOST)


def _walk(schema: Any, pointer: str, depth: int, root: Any, followed: set[str]) -> Iterator[Field]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        required = _listed(schema.get("required"))
        for name, inner in properties.items():
            here = f"{pointer}/properties/{escaped(str(name))}"
            yield Field(here, str(name), _meant(inner, root), name in required)
            yield from _walk(inner, here, depth + 1, root, followed)
    yield from _walk(schema.get("items"), f"{pointer}/items", depth + 1, root, followed)
    for key in _UNIONS:
        for index, part in enumerate(_listed(schema.get(key))):
            yield from _walk(part, f"{pointer}/{key}/{index}", depth + 1, root, followed)
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in followed:
        followed.add(reference)
        yield from _walk(_referred(reference, root), reference[1:], depth + 1, root, followed)


def _meant(schema: Any, root: Any) -> Mapping[str, Any]:
    """What a property is, where it or the parts of its union say so elsewhere in the document."""
    if not isinstance(schema, Mapping):
        return {}
    if "$ref" in schema:
        schema = {**_referred(schema["$ref"], root), **schema}
    referring = [key for key in _UNIONS if any(map(_refers, _listed(schema.get(key))))]
    parts = {
        key: [{**_referred(one["$ref"], root), **one} if _refers(one) else one for one in schema[key]]
        for key in referring
    }
    return {**schema, **parts} if parts else schema


def _refers(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "$ref" in schema


def _referred(reference: Any, root: Any) -> Mapping[str, Any]:
    """What a reference within the document leads to; nothing where it leads out of it or nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    here = root
    for token in reference[2:].split("/"):
        here = here.get(token.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def escaped(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")
