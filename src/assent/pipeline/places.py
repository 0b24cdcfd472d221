"""Where people settle what a refusal names: the page of the console, and the command in a terminal."""

from __future__ import annotations

from assent.core.call import Call
from assent.core.claims import claim_name
from assent.core.outcome import Refusal
from assent.core.question import quoted
from assent.core.refusals import CATALOGUE
from assent.ports import Ports

MOST_SAID = 500

_NOWHERE = (
    "Tell the user: this server keeps its records in memory, so no other program can settle it. Its operator can set a "
    "store."
)


def place_of(ports: Ports, path: str, words: str) -> str | None:
    """The page, the command, or both, in words; None if neither reaches the store."""
    page, command = ports.page(path), ports.command(words)
    if page is not None and command is not None:
        return f"at {page} or with `{command}` on the gateway's machine"
    if command is not None:
        return f"with `{command}` in their own terminal"
    return None if page is None else f"at {page}"


def doubt_refusal(code: str, ports: Ports, call: Call | None = None, said: str = "") -> Refusal:
    """The refusal of a call in doubt: what the user checks, and where an operator settles it.

    With the call: if its contract recovers it, the caller repeats it with the same key and nobody needs to settle it.
    `said` is what the server answered, which is quoted as its words.
    """
    detail = f"{CATALOGUE[code].title} The server said: {quoted(said[:MOST_SAID])}" if said else ""
    if call is not None and (how := _how_to_repeat(call)) is not None:
        return Refusal(code, detail, remedy=how, retryable=True)
    place = place_of(ports, "claims", "claims list")
    if place is None:
        return Refusal(code, detail, remedy=f"Do not repeat it with a new key. {_NOWHERE}")
    remedy = (
        "Do not repeat it with a new key. Tell the user: check whether it took effect; an operator then settles it "
        f"{place}."
    )
    return Refusal(code, detail, remedy=remedy)


def _how_to_repeat(call: Call) -> str | None:
    """How the caller repeats a call that `recall` will recover; None if it would not."""
    recovery = call.tool.contract.idempotency.recovery
    if recovery == "none" or (recovery != "natural" and claim_name(call) is None):
        return None
    if call.key is None:
        return "Call it again with exactly the same arguments: it is recognised and does not act twice."
    return "Call it again with the same arguments and the same idempotency key: it does not act twice. Use no new key."
