"""Selects the arguments of a call that another operation accepts for the same subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.ports import NotReached
from assent.upstreams.openapi.arguments import Arguments


def shared_arguments(ours: Arguments, theirs: Arguments, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that the other operation knows; the rest is left out, because an estimate takes fewer.

    One of the two may describe its body field by field and the other as a whole. Raises NotReached if it knows none
    of the arguments: its answer would be about something else.
    """
    whole_here, whole_there = _whole_body(ours), _whole_body(theirs)
    plain = dict(given)
    if whole_here and not whole_there:
        body = plain.pop(whole_here, None)
        plain = {**(body if isinstance(body, Mapping) else {}), **plain}
    elif whole_there and not whole_here:
        fields = {slot.argument: slot.name for slot in ours.slots if slot.location == "field"}
        body = {fields[name]: plain.pop(name) for name in list(plain) if name in fields}
        plain[whole_there] = body
    elif whole_here and whole_there and whole_here in plain:
        plain[whole_there] = plain.pop(whole_here)
    known = {slot.argument for slot in theirs.slots}
    shared = {name: value for name, value in plain.items() if name in known or theirs.open_body}
    if plain and known and not shared:
        raise NotReached("the estimate accepts none of the arguments")
    return shared


def _whole_body(arguments: Arguments) -> str:
    return next((slot.argument for slot in arguments.slots if slot.location == "body"), "")
