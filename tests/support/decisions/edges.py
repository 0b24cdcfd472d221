"""The edges that run decision cases, and the cases that an edge decides otherwise, each with the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from support.decisions import Case, WorldHarness
from support.decisions.client_harness import ClientTable
from support.decisions.gateway_harness import HttpTable, WrapTable
from support.decisions.library_harness import FastMCPTable, LibraryTable
from support.decisions.upstream import DecisionUpstream

EDGES: Mapping[str, Callable[..., Any]] = {
    "govern": WorldHarness,
    "sdk, modern": partial(LibraryTable, era="auto"),
    "sdk, handshake": partial(LibraryTable, era="legacy"),
    "fastmcp, modern": partial(FastMCPTable, era="auto"),
    "fastmcp, handshake": partial(FastMCPTable, era="legacy"),
    "http": HttpTable,
    "wrap": WrapTable,
    "client": partial(ClientTable, era="auto"),
}

TEST_ENDPOINT = (
    "a test caller reaches the test endpoint",
    "against a test endpoint a user is enough where an approver is asked for",
    "the question says that it is only a test",
)
NEVER_REACHED = (
    "a tool that was never reached did nothing",
    "a tool that was never reached may be called again with the same key",
    "a read that was never reached is unavailable",
)
MALFORMED = ("arguments that are a list are malformed", "arguments that are text are malformed")
ROUNDED = ("an integer that others would round is malformed",)
REFUSED_BY_SERVER = ("a tool whose own server refuses the arguments did nothing",)

LIBRARY: Mapping[str, tuple[str, ...]] = {
    "the client library sends objects only": MALFORMED,
    "a function of the same process is always reached": NEVER_REACHED,
    "the SDK refuses by the function's own types and not by a script": REFUSED_BY_SERVER,
    "a budget that no function could spend stops the start": ("a budget in another currency is another budget",),
}
"""What each edge decides otherwise: the reason, and the names or patterns of the cases."""

OTHERWISE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "govern": {},
    "sdk, modern": LIBRARY,
    "sdk, handshake": LIBRARY,
    "fastmcp, modern": LIBRARY,
    "fastmcp, handshake": LIBRARY,
    "http": {
        "the server of the cases always listens; test_dying_upstreams.py has servers that do not": NEVER_REACHED,
        "the gateway refuses such a message before it is a call, in other words": ROUNDED,
    },
    "wrap": {
        "the server of the cases always runs; test_stdio_upstreams.py has servers that do not": NEVER_REACHED,
        "the gateway refuses such a message before it is a call, in other words": ROUNDED,
        "a server on standard streams has one caller, who needs no credentials": (
            "strangers stay outside",
            "no credentials are refused",
            "credentials that are not valid are refused",
            "strangers learn nothing of tools",
        ),
        "a command has no test endpoint": TEST_ENDPOINT,
    },
    "client": {
        "a budget that no function could spend stops the start": ("a budget in another currency is another budget",),
        "a function of the same process is always reached": NEVER_REACHED,
        "the SDK refuses by the function's own types and not by a script": REFUSED_BY_SERVER,
        "the client refuses it before it is sent, in other words": (
            *ROUNDED,
            "a tool nobody has is unknown",
            "a hidden tool is unknown to an agent",
        ),
        "the client calls only tools that the server lists for the caller": (
            "permission is asked for again before a replay",
            "every missing permission is named at once",
            "only what is missing is named as missing",
            "a test caller without a test endpoint is refused",
            "an agent is refused a tool of a forbidden tier",
            "an agent behind a person is refused as well",
        ),
        "the client makes a key for every action and takes none from the model": (
            "a key by argument is a key",
            "a key is the same wherever it is sent",
            "two keys that differ are refused",
            "a contract can demand a key",
            "and where a client can put one is said, and what an operator can do",
            "an argument of the contract comes first, since models write nothing else",
            "and a retry without a key replays, since one is derived from the arguments",
            "a spend without a key whose end is not known is in doubt and never repeated",
            "a missing key is written down",
            "everything at once is written down in order",
        ),
        "the client rehearses by itself what the contract wants rehearsed": (
            "a required dry run cannot be skipped",
            "the rehearsal of other arguments is another rehearsal",
            "somebody else's rehearsal does not count",
            "a rehearsal whose time is up does not count",
            "a rehearsal of an earlier contract does not count",
            "a dry run that the tool refuses counts for nothing",
        ),
        "the client asks its user before the server decides, in words of its own": (
            "the question says that it is only a test",
            "a user who can be asked is asked, with all arguments",
            "the host that asks is trusted",
            "an approval out of band serves a client that can ask",
            "nobody is asked a second time for a replay",
            "nobody is asked",
            "nobody is asked about a read",
            "the price is part of the question",
            "without an estimate the price is read from the arguments",
            "the preview is shown to whom is asked",
        ),
        "every call of a case comes from a new client, which remembers no earlier answer": (
            "a no is sticky for the same call",
            "a no is sticky to its last second",
        ),
        "the client hands secrets to its user and removes them from the result": (
            "a secret is shown once",
            "a replay comes without the secret",
            "a text that holds the secret is withheld whole",
        ),
        "the client is for agents, so a forbidden tool stays forbidden whoever is signed in": (
            "* at forbidden, called by human, *",
            "* at forbidden, called by service, *",
            "a forbidden tool is critical for a chain without agents",
        ),
    },
}


def reason(edge: str, case: Case) -> str | None:
    """Why an edge decides a case otherwise; None if it must decide it as written."""
    found = (why for why, names in OTHERWISE[edge].items() if any(fnmatchcase(case.name, name) for name in names))
    return next(found, None)


@asynccontextmanager
async def opened(edge: str, folder: Path) -> AsyncIterator[Callable[..., Any]]:
    """The way to open an edge for a case, with what all cases share."""
    table, upstream = EDGES[edge], DecisionUpstream()
    if edge == "wrap":
        yield partial(table, upstream=upstream, folder=folder)
    elif edge == "http":
        async with upstream.over_http() as url:
            yield partial(table, upstream=upstream, folder=folder, url=url)
    else:
        yield table
