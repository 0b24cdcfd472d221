"""Looks up what guards need: the addresses of hosts and the real paths of files, when a call is checked (ADR 0086)."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from assent.rules.guards.context import Context, LookupNeeds
from assent.rules.guards.match import UnreadableInner
from assent.rules.guards.rule import GuardRule

Resolve = Callable[[str], Awaitable[tuple[str, ...]]]
"""The IP addresses of a host; empty if there are none."""
MOST_HOSTS = 20
MOST_PATHS = 200
TIMEOUT = 3.0


async def resolve_host(host: str) -> tuple[str, ...]:
    """The addresses of a host from the system's resolver."""
    try:
        async with asyncio.timeout(TIMEOUT):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return ()
    return tuple(dict.fromkeys(str(address[4][0]) for address in found))


def lookup_needs(rule: GuardRule, arguments: Mapping[str, Any], context: Context) -> LookupNeeds:
    """What the rule needs for a call, or for the inner calls; one that cannot be read is refused by the rule itself."""
    try:
        found = [rule.needs(inner) for _, inner, _ in rule.each_call(context, arguments)]
    except UnreadableInner:
        return LookupNeeds()
    return LookupNeeds(
        frozenset[str]().union(*(one.hosts for one in found)), frozenset[str]().union(*(one.paths for one in found))
    )


async def look_up(needs: LookupNeeds, context: Context, resolve: Resolve = resolve_host) -> Context:
    """The context with what a rule needs. What cannot be looked up is absent, and so are hosts beyond the bound."""
    if not needs:
        return context
    names = sorted(needs.hosts)[:MOST_HOSTS]
    addresses = await asyncio.gather(*map(resolve, names))
    paths = await _real_paths(needs.paths) if needs.paths else {}
    return context._replace(addresses=dict(zip(names, addresses, strict=True)), paths=paths)


async def _real_paths(paths: Iterable[str]) -> dict[str, str]:
    """The real paths, from a thread, because a disk may not answer. More paths than can be looked up are an error."""
    wanted = sorted(paths)
    if len(wanted) > MOST_PATHS:
        raise ValueError("there are too many paths")
    async with asyncio.timeout(TIMEOUT):
        return await asyncio.to_thread(lambda: {path: os.path.realpath(path) for path in wanted})
