"""Stage: makes a call of a request, or refuses it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from assent.contract.digest import NotCanonicalError, canonical
from assent.contract.model import Contract
from assent.contract.schema_cost import size_of
from assent.core.call import Call, Request
from assent.core.member_names import Misspelt
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool import MOST_VALUES, Tool
from assent.pipeline.trace import CallTrace

_KEY = re.compile(r"[\x20-\x7e]{1,255}\Z")


def validate(request: Request, principal: Principal, tool: Tool, trace: CallTrace) -> Call:
    """The frozen call: arguments that fit the schema, their canonical form, one digest. Only this makes a Call."""
    arguments = {} if request.arguments is None else request.arguments
    if not isinstance(arguments, dict):
        raise Refusal("validate.malformed", f"The arguments must be an object, not {_kind(arguments)}.")
    if size_of(arguments, MOST_VALUES) is None:
        raise Refusal("validate.arguments_invalid", f"The arguments have too many values: {MOST_VALUES} are the most.")
    dry_run, stated = _stated(arguments, tool)
    if request.beside:
        if not arguments.keys().isdisjoint(request.beside):
            raise Refusal("validate.malformed", "An argument has a name that is reserved for what is sent beside it.")
        stated = {**stated, **request.beside}
    try:
        plain = canonical(stated)
    except NotCanonicalError as error:
        raise Refusal("validate.malformed", f"The arguments have no canonical form: {_safe(error)}.") from None
    if tool.spelling is not None:
        for misspelt in tool.spelling.find(arguments):
            _object_to(misspelt, trace)
    if tool.check_input is not None and (errors := tool.check_input(arguments)):
        trace.refuse_or_note("validate", _unfit(errors))
    fingerprint = hashlib.sha256(plain).hexdigest()
    call = Call(
        principal,
        tool,
        arguments,
        plain,
        fingerprint,
        _digest(principal, tool, fingerprint),
        _key(request, arguments, tool, trace),
        dry_run,
        request.reply,
        request.resume,
        request.can_ask,
        request.beside,
    )
    trace.call = call
    trace.passed("validate", "call %.12s", call.digest)
    return call


def _stated(arguments: dict[str, Any], tool: Tool) -> tuple[bool, dict[str, Any]]:
    """Whether the call is a rehearsal, and the arguments that say what is done."""
    spec = tool.contract.dry_run
    dry_run = spec.mode != "none" and arguments.get(spec.argument) is True
    return dry_run, strip_control_arguments(tool.contract, arguments)


def strip_control_arguments(contract: Contract, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments but for two that speak to us: the dry-run argument, whose absence means false, and the key.

    A key is the same wherever it is sent, so a retry may send it elsewhere, and a rehearsal needs none.
    """
    key, rehearsal = contract.idempotency.argument, contract.dry_run
    if key is None and rehearsal.mode == "none" and arguments.__class__ is dict:
        return arguments
    stated = dict(arguments)
    if key is not None and isinstance(stated.get(key), str):
        del stated[key]
    if rehearsal.mode != "none" and isinstance(stated.get(rehearsal.argument), bool):
        del stated[rehearsal.argument]
    return stated


def _digest(principal: Principal, tool: Tool, fingerprint: str) -> str:
    who_and_what = _who_and_what(principal, tool.upstream, tool.name, tool.contract.digest)
    return hashlib.sha256(who_and_what + fingerprint.encode()).hexdigest()


@lru_cache(65_536)
def _who_and_what(principal: Principal, upstream: str, name: str, contract: str) -> bytes:
    """Everything of a call but its arguments; parts are length-prefixed, so none can lean over into the next."""
    parts = [principal.tenant, principal.id, principal.mode, *(actor.id for actor in principal.actors)]
    parts += ["", upstream, name, contract]
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"assent call v1\n" + b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


def _key(request: Request, arguments: dict[str, Any], tool: Tool, trace: CallTrace) -> str | None:
    """The one idempotency key of a call, wherever it was sent; two that differ are refused."""
    sent = list(request.keys)
    argument = tool.contract.idempotency.argument
    if argument is not None and isinstance(arguments.get(argument), str):
        sent.append(arguments[argument])
    if not sent:
        return None
    if any(other != sent[0] for other in sent):
        detail = "The idempotency keys of header, _meta and arguments differ."
        trace.refuse_or_note("validate", Refusal("validate.key_invalid", detail))
    elif not _KEY.match(sent[0]):
        trace.refuse_or_note("validate", Refusal("validate.key_invalid"))
    else:
        return sent[0]
    return None


def _object_to(misspelt: Misspelt, trace: CallTrace) -> None:
    """Refuse an argument that a reader without regard to case takes for another one.

    Where both are there, no mode lets the call through: what was checked is not what such a reader uses.
    """
    reason = f"{misspelt.name[:80]!r} differs only in case from {misspelt.meant[:80]!r}"
    if misspelt.both:
        where = f"{misspelt.pointer}: " if misspelt.pointer else ""
        raise Refusal("validate.malformed", f"{where}{reason}, and both are there.")
    trace.refuse_or_note("validate", _unfit([(misspelt.pointer, reason)]))


def _unfit(errors: list[tuple[str, str]]) -> Refusal:
    listed = [{"field": field, "reason": reason} for field, reason in errors]
    first = errors[0]
    where = f"{first[0]}: " if first[0] else ""
    return Refusal("validate.arguments_invalid", f"{where}{first[1]}.", errors=listed)


def _kind(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


def _safe(error: Exception) -> str:
    """The reason without the value: what was sent is the caller's."""
    text = str(error)
    if "2^53" in text or "safe" in text or "domain" in text or "exceed" in text:
        return "an integer is beyond ±(2^53-1)"
    if "utf" in text.lower() or "surrogate" in text.lower():
        return "a text holds a lone surrogate"
    if "recursion" in text.lower():
        return "it is nested too deeply"
    return "a value is not plain JSON"
