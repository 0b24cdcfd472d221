"""Intent: one call of the agent, frozen, with what is known about it so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import orjson

from assent.client.catalogue import ListedTool
from assent.client.timeouts import Deadline
from assent.contract.digest import NotCanonicalError, canonical
from assent.core.outcome import Refusal


@dataclass(slots=True)
class Intent:
    """One intended action; every attempt and every question belongs to it."""

    listed: ListedTool
    arguments: dict[str, Any]
    form: bytes
    agreed: bool = False
    price: str | None = None
    preview: Any = None
    answered_server: bool = False
    timer: Deadline | None = None
    _digest: str | None = None

    @property
    def digest(self) -> str:
        """Digest that makes two calls the same; computed at first use, because most calls need none."""
        if self._digest is None:
            self._digest = hashlib.sha256(self.name.encode() + b"\0" + self.form).hexdigest()
        return self._digest

    @property
    def name(self) -> str:
        return self.listed.tool.name


current: ContextVar[Intent | None] = ContextVar("assent_intent", default=None)


def make_intent(listed: ListedTool, arguments: Mapping[str, Any]) -> Intent:
    """Make an intent with a JSON copy of the arguments and without a key from the model."""
    plain = {name: value for name, value in arguments.items() if name != listed.key_argument}
    try:
        form = canonical(plain)
    except NotCanonicalError as error:
        raise Refusal("validate.malformed", f"The arguments are not plain JSON: {error}.") from None
    return Intent(listed, orjson.loads(form), form)


def is_rehearsal(intent: Intent) -> bool:
    """Whether the agent itself asks a trusted server for a dry run."""
    mode, argument = dry_run_of(intent.listed)
    return mode != "none" and intent.arguments.get(argument) is True


def dry_run_of(listed: ListedTool) -> tuple[str, str]:
    """Return the contract's dry-run mode and its argument; `none` if there is no contract."""
    said = listed.standing.contract.get("dry_run")
    if not isinstance(said, Mapping):
        return "none", ""
    mode, argument = said.get("mode"), said.get("argument")
    return (mode, argument) if mode in ("offered", "required") and isinstance(argument, str) else ("none", "")
