"""Where people settle what a refusal names: the page of the console, and the command in a terminal."""

from __future__ import annotations

from assent.core.outcome import Refusal
from assent.ports import Ports

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


def doubt_refusal(code: str, ports: Ports) -> Refusal:
    """The refusal of a call in doubt: what the user checks, and where an operator settles it."""
    place = place_of(ports, "claims", "claims list")
    if place is None:
        return Refusal(code, remedy=f"Do not repeat it with a new key. {_NOWHERE}")
    remedy = (
        "Do not repeat it with a new key. Tell the user: check whether it took effect; an operator then settles it "
        f"{place}."
    )
    return Refusal(code, remedy=remedy)
