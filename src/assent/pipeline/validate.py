"""Is this request a call?"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from assent.contract.digest import NotCanonicalError, canonical
from assent.core.call import Call, Request
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.pipeline.journal import Journal

_KEY = re.compile(r"[\x20-\x7e]{1,255}\Z")


def validate(request: Request, principal: Principal, tool: Tool, journal: Journal) -> Call:
    """The frozen call: arguments that fit the schema, their canonical form, one digest. Only this makes a Call."""
    arguments = {} if request.arguments is None else request.arguments
    if not isinstance(arguments, dict):
        raise Refusal("validate.malformed", f"The arguments must be an object, not {_kind(arguments)}.")
    dry_run, stated = _without_dry_run(arguments, tool)
    try:
        plain = canonical(stated)
    except NotCanonicalError as error:
        raise Refusal("validate.malformed", f"The arguments have no canonical form: {_safe(error)}.") from None
    if tool.check_input is not None and (errors := tool.check_input(arguments)):
        journal.object("validate", _unfit(errors))
    fingerprint = hashlib.sha256(plain).hexdigest()
    call = Call(
        principal=principal,
        tool=tool,
        arguments=arguments,
        canonical=plain,
        fingerprint=fingerprint,
        digest=_digest(principal, tool, fingerprint),
        key=_key(request, arguments, tool),
        dry_run=dry_run,
        reply=request.reply,
        resume=request.resume,
        can_ask=request.can_ask,
    )
    journal.call = call
    journal.passed("validate", f"call {call.digest[:12]}")
    return call


def _without_dry_run(arguments: dict[str, Any], tool: Tool) -> tuple[bool, dict[str, Any]]:
    """Whether the call is a rehearsal, and the arguments it rehearses: the dry-run argument absent means false."""
    spec = tool.contract.dry_run
    if spec.mode == "none" or spec.argument not in arguments:
        return False, arguments
    stated = {name: value for name, value in arguments.items() if name != spec.argument}
    return arguments[spec.argument] is True, stated


def _digest(principal: Principal, tool: Tool, fingerprint: str) -> str:
    parts = (
        principal.tenant,
        principal.id,
        principal.mode,
        tool.upstream,
        tool.name,
        tool.contract.digest,
        fingerprint,
    )
    chain = (actor.id for actor in principal.actors)
    joined = b"".join(len(part).to_bytes(4, "big") + part for part in (p.encode("utf-8") for p in (*parts, *chain)))
    return hashlib.sha256(b"assent call v1\n" + joined).hexdigest()


def _key(request: Request, arguments: dict[str, Any], tool: Tool) -> str | None:
    """The one idempotency key of a call, wherever it was sent; two that differ are refused."""
    sent = list(request.keys)
    argument = tool.contract.idempotency.argument
    if argument is not None and isinstance(arguments.get(argument), str):
        sent.append(arguments[argument])
    if not sent:
        return None
    if any(other != sent[0] for other in sent):
        raise Refusal("validate.key_invalid", "The idempotency keys of header, _meta and arguments differ.")
    if not _KEY.match(sent[0]):
        raise Refusal("validate.key_invalid")
    return sent[0]


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
