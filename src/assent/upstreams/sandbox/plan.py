"""Makes the plan of a server's boxes from its settings, and keeps what was observed of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal

import orjson

from assent.core.document import Document
from assent.errors import StoreError
from assent.ports import Store
from assent.upstreams.sandbox.bubblewrap import box_environment as box_environment
from assent.upstreams.sandbox.errors import CannotConfine as CannotConfine
from assent.upstreams.sandbox.grants import Grants, host_rule, real_grants
from assent.upstreams.sandbox.link import MakeServer, Plan, SandboxedLink
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.support import require_support
from assent.upstreams.sandbox.usage import Usage

logger = logging.getLogger(__name__)

KIND = "sandbox_usage"


def sandboxed_link(plan: Plan, make: MakeServer, store: Store | None) -> SandboxedLink:
    """The link to a server in boxes; what it uses is kept in the store."""
    usage = Usage()
    records = UsageRecords(store, plan.name, usage) if store is not None else None
    return SandboxedLink(plan, make, usage, records.save if records is not None else None)


def make_plan(
    name: str,
    mode: Literal["observe", "enforce"],
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str | None,
    *,
    read: Iterable[str],
    write: Iterable[str],
    hosts: Iterable[str],
    instances: Literal["one", "by_tier"],
) -> Plan:
    """Check the grants and the machine. Raises CannotConfine in `enforce` if anything is missing."""
    rules, read, write = tuple(map(host_rule, hosts)), tuple(read), tuple(write)
    try:
        if mode == "enforce":
            require_support()
        program = find_program(command, env, cwd).reads
        grants = Grants(real_grants(read, write), real_grants(write, write), rules, (), program)
    except CannotConfine:
        if mode == "enforce":
            raise
        grants = Grants(read, write, rules)
    logger.info("%s: for its start it may read %s", name, named(grants.program))
    return Plan(name, mode, grants, instances)


def named(program: Mapping[str, str]) -> str:
    """What a program needs to start, as text."""
    return ", ".join(f"{path} ({why})" for path, why in program.items()) or "the system's folders alone"


class UsageRecords:
    """Keeps the usage of one server in the store, together with what other processes saw."""

    def __init__(self, store: Store, upstream: str, usage: Usage) -> None:
        self._store, self._upstream, self._usage = store, upstream, usage

    async def save(self) -> None:
        """Write what is new. It is lost if the store does not answer: it is advice, not a record."""
        if not self._usage.is_changed:
            return
        self._usage.is_changed = False
        with suppress(StoreError):
            for _ in range(3):
                now = time.time()
                found = await self._store.document(KIND, self._upstream, now)
                if found is not None:
                    self._usage.merge(orjson.loads(found.body))
                body = orjson.dumps(self._usage.as_json())
                draft = Document(KIND, self._upstream, body)
                expected = found.version if found is not None else 0
                if await self._store.put_document(draft, now, expected=expected) is not None:
                    break
        self._usage.is_changed = False


async def stored_usage(store: Store, upstream: str) -> Usage | None:
    """What was seen of a server so far; None if it was never observed or confined."""
    found = await store.document(KIND, upstream, time.time())
    if found is None:
        return None
    usage = Usage()
    usage.merge(orjson.loads(found.body))
    return usage
