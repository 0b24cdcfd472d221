"""Pins definitions in the store when they are first seen, where no lock file pins them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from assent.config.model import UpstreamSettings
from assent.core.first_sight import KIND, SeenServer, accepted_entry, seen_server, server_id
from assent.core.pins import Definition, pin_digest
from assent.core.principal import Principal
from assent.errors import StoreError
from assent.ports import Store

_TRIES = 10


async def note_seen(store: Store, name: str, upstream: UpstreamSettings, found: Sequence[Definition]) -> SeenServer:
    """The pins of a server that lists these definitions now. New ones are kept, and so is what changed."""
    id = id_of(name, upstream)
    for _ in range(_TRIES):
        now = time.time()
        stored = await store.document(KIND, id, now)
        before = SeenServer(name, {}, id) if stored is None else seen_server(stored)
        after = before.note(found, now)
        if after is before:
            return before
        kept = await store.put_document(after.document(), now, expected=before.version)
        if kept is not None:
            return seen_server(kept)
    raise StoreError("Other processes keep changing the pins of this server. Try again.")


def id_of(name: str, upstream: UpstreamSettings) -> str:
    """The id of a configured server."""
    return server_id(name, upstream.command or (upstream.url or "",))


async def accept_seen(store: Store, id: str, digests: Mapping[str, str], by: Principal, reason: str) -> None:
    """Accept definitions as they were shown, each with its digest, and record who did."""
    now = time.time()
    stored = await store.document(KIND, id, now)
    server = None if stored is None else seen_server(stored)
    if server is None or any(_digest(server, name) != digest for name, digest in digests.items()):
        raise StoreError("A definition changed while you looked. Nothing was accepted; look again.")
    after, entry = server.accept(digests, by.id, now), accepted_entry(server, digests, by, reason, now)
    if await store.put_document(after.document(), now, expected=server.version, entry=entry) is None:
        raise StoreError("The pins changed at the same time. Nothing was accepted; try again.")


def _digest(server: SeenServer, name: str) -> str:
    one = server.tools.get(name)
    return "" if one is None else pin_digest(one.pin.definition if one.listed is None else one.listed)


async def seen_servers(store: Store, ids: Collection[str] | None = None) -> list[SeenServer]:
    """What was seen of these servers, or of all, by upstream."""
    found = [seen_server(one) for one in await store.documents(KIND, time.time(), limit=10_000)]
    return sorted((one for one in found if ids is None or one.id in ids), key=lambda one: (one.upstream, one.id))
