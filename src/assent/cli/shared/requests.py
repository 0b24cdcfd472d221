"""The request that a command explains: one JSON object with a call, its caller, and what was read before."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import IO, Any

import click
from pydantic import BaseModel, ConfigDict, ValidationError

from assent.config.callers import principal_of as configured_principal
from assent.config.model import Settings
from assent.contract.show import explain
from assent.core.call import ConversationRef, Request
from assent.core.identity_claims import further_claims
from assent.core.principal import Asks, Kind, Mode, Principal
from assent.core.question import visible
from assent.errors import Fault, SettingsError


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PrincipalForm(_Form):
    """A caller in JSON."""

    kind: Kind
    id: str = "caller"
    tenant: str = "local"
    scopes: list[str] = []
    roles: list[str] = []
    groups: list[str] = []
    claims: dict[str, Any] = {}
    acr: str | None = None
    auth_time: float | None = None
    mode: Mode = "live"
    asks: Asks | None = None
    method: str = ""
    actors: list[PrincipalForm] = []

    def principal(self) -> Principal:
        lists: Any = {name: frozenset(getattr(self, name)) for name in ("scopes", "roles", "groups")}
        actors = tuple(one.principal() for one in self.actors)
        given = self.model_dump(exclude={"claims", "actors", *lists})
        return Principal(**given | lists, claims=further_claims(self.claims), actors=actors)


class EarlierResult(_Form):
    """A result that was read before the call."""

    tool: str
    result: Any

    @property
    def whole(self) -> dict[str, Any]:
        """The result of a tool; a text stands for a result with that text."""
        if isinstance(self.result, dict) and self.result.keys() & {"content", "structuredContent"}:
            return self.result
        if isinstance(self.result, str):
            return {"content": [{"type": "text", "text": self.result}]}
        return {"structuredContent": self.result}


class _RequestForm(_Form):
    tool: str
    arguments: Any = None
    principal: PrincipalForm | None = None
    key: str | None = None
    can_ask: bool = False
    user_text: str = ""
    results: list[EarlierResult] | None = None


_FORMS: dict[str, type[_Form]] = {"principal": PrincipalForm, "results": EarlierResult}


def read_request(file: IO[str], settings: Settings, caller: str | None) -> tuple[Request, Sequence[EarlierResult]]:
    """The request in a file, with its caller and what was read before."""
    if file is sys.stdin and sys.stdin.isatty():
        click.echo('Type one JSON object such as {"tool": "place_order", "arguments": {}}, then Ctrl-D.', err=True)
    remedy = 'Write one JSON object such as {"tool": "place_order", "arguments": {}}, in a file or to standard input'
    try:
        text = file.read()
        given = json.loads(text) if text.strip() else None
    except UnicodeDecodeError:
        raise SettingsError(Fault("the request is not UTF-8 text", remedy)) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SettingsError(Fault(f"the request is not JSON: {error.msg} at {where}", remedy)) from None
    except (ValueError, RecursionError):
        raise SettingsError(Fault("the request is not JSON: it is too large or nested too deeply", remedy)) from None
    if not isinstance(given, dict):
        raise SettingsError(Fault("there is no request" if given is None else "the request is no object", remedy))
    try:
        form = _RequestForm.model_validate(given)
    except ValidationError as error:
        raise _faults(error) from None
    read_before = form.results is not None
    request = Request(
        tool=form.tool,
        arguments=form.arguments,
        principal=form.principal.principal() if form.principal is not None else _configured(settings, caller),
        keys=(form.key,) if form.key is not None else (),
        can_ask=form.can_ask,
        conversation=ConversationRef("decide", form.user_text) if form.user_text or read_before else None,
    )
    return request, form.results or ()


def principal_of(given: Any) -> Principal:
    """A principal from JSON."""
    try:
        return PrincipalForm.model_validate(given).principal()
    except ValidationError as error:
        raise _faults(error, "principal") from None


def _faults(error: ValidationError, *inside: str) -> SettingsError:
    """What is wrong with a request, in the words that the configuration uses."""
    faults = []
    for one in error.errors(include_url=False):
        loc = (*inside, *one["loc"])
        form: type[_Form] = _FORMS.get(str(loc[0]), _RequestForm) if len(loc) > 1 else _RequestForm
        faults.append(Fault(*explain(one, form.model_fields), ".".join(map(str, loc))))
    return SettingsError(faults)


def _configured(settings: Settings, caller: str | None) -> Principal:
    """The caller of a request that names none: a configured key, or the configured local caller."""
    for key in settings.auth.api_keys:
        if key.name == caller:
            return configured_principal(key)
    local = settings.auth.stdio or settings.auth.anonymous
    if caller is None and local is not None:
        return configured_principal(local)
    names = ", ".join(key.name for key in settings.auth.api_keys)
    remedy = 'Add `"principal": {"kind": "agent", "scopes": ["*"]}` to the request'
    remedy += f", or use --as with one of: {names}" if names else ""
    if caller is not None:
        raise SettingsError(Fault(f"no configured key has the name {visible(caller)}", remedy, "--as"))
    raise SettingsError(Fault("the request has no caller", remedy, "principal"))
