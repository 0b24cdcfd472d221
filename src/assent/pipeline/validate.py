"""Stage `validate`: turns a request into a call, or refuses it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from assent.contract.digest import NotCanonicalError, canonical
from assent.contract.member_names import Misspelt
from assent.contract.model import Contract
from assent.contract.schema_cost import size_of
from assent.core.call import Call, Mirrors, Request, digest_of_call
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.tool import MOST_VALUES, Tool
from assent.mcp.mirrored_headers import header_mismatch
from assent.pipeline.record import CallTrace, always
from assent.pipeline.remedies import invalid_arguments, kind_of, safe_reason

_KEY = re.compile(r"[\x20-\x7e]{1,255}\Z")


applies = always  # It makes the call.


def validate(request: Request, principal: Principal, tool: Tool, trace: CallTrace, text: bytes | None = None) -> Call:
    """Make the immutable call: arguments that match the schema, their canonical form and one digest. Only this
    makes a Call.

    `text` is the JSON of the arguments if it is short, so that their values need not be counted.
    """
    arguments = {} if request.arguments is None else request.arguments
    if not isinstance(arguments, dict):
        raise Refusal("validate.malformed", f"The arguments must be an object, not {kind_of(arguments)}.")
    if text is None and size_of(arguments, MOST_VALUES) is None:
        raise Refusal("validate.arguments_invalid", f"The arguments have more than {MOST_VALUES} values.")
    if request.mirrors is not None and (request.mirrors or tool.header_names):
        _check_headers(tool, arguments, request.mirrors)
    dry_run, stated = _split_arguments(arguments, tool) if tool.own_arguments else (False, arguments)
    if request.beside:
        if not arguments.keys().isdisjoint(request.beside):
            raise Refusal(
                "validate.malformed", "An argument has a name that is reserved for values sent beside the arguments."
            )
        stated = {**stated, **request.beside}
    try:
        plain = canonical(stated)
    except NotCanonicalError as error:
        raise Refusal("validate.malformed", f"The arguments have no canonical form: {safe_reason(error)}.") from None
    if tool.spelling is not None:
        for misspelt in tool.spelling.find(arguments):
            _refuse_misspelt(misspelt, trace)
    if tool.check_input is not None and (errors := tool.check_input(arguments, text)):
        trace.refuse_or_note("validate", invalid_arguments(errors))
    fingerprint = hashlib.sha256(plain).hexdigest()
    call = Call(
        principal,
        tool,
        arguments,
        plain,
        fingerprint,
        digest_of_call(principal, tool, fingerprint),
        _key(request, arguments, tool, trace),
        dry_run,
        request.reply,
        request.resume,
        request.can_ask,
        request.beside,
        request.conversation,
        request.origin,
        request.client,
        {},
    )
    trace.call = call
    trace.note_pass("validate", "call %.12s", call.digest)
    return call


def _check_headers(tool: Tool, arguments: dict[str, Any], mirrors: Mirrors) -> None:
    """Refuse headers that differ from the arguments, in observe mode too: a proxy may have routed the call by them."""
    differs = header_mismatch(tool, arguments, mirrors)
    if differs is not None:
        raise Refusal("validate.header_mismatch", differs)


def _split_arguments(arguments: dict[str, Any], tool: Tool) -> tuple[bool, dict[str, Any]]:
    """Whether the call is a dry run, and the arguments that describe the action."""
    spec = tool.contract.dry_run
    dry_run = spec.mode != "none" and arguments.get(spec.argument) is True
    return dry_run, strip_control_arguments(tool.contract, arguments)


def strip_control_arguments(contract: Contract, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without Assent's own: the dry-run argument, whose absence means false, and the key.

    The key may be sent in several places, so a retry may send it elsewhere, and a dry run needs none.
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


def _key(request: Request, arguments: dict[str, Any], tool: Tool, trace: CallTrace) -> str | None:
    """The idempotency key of a call from any place; keys that differ are refused."""
    if not request.keys and not tool.own_arguments:
        return None
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


def _refuse_misspelt(misspelt: Misspelt, trace: CallTrace) -> None:
    """Refuse an argument that a case-insensitive reader takes for another one.

    If both are present, observe mode refuses too: such a reader uses another value than the one that was checked.
    """
    reason = f"{misspelt.name[:80]!r} differs only in case from {misspelt.meant[:80]!r}"
    if misspelt.both:
        where = f"{misspelt.pointer}: " if misspelt.pointer else ""
        raise Refusal("validate.malformed", f"{where}{reason}, and both are present.")
    trace.refuse_or_note("validate", invalid_arguments([(misspelt.pointer, reason)]))
