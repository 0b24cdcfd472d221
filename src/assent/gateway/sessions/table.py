"""The table of open handshake-era sessions and their owners (ADR 0012)."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from assent.mcp.session import McpSession


class TooManySessions(Exception):
    """No room for another session, in total or for this caller."""


class SessionTable:
    """The open sessions, limited in total and per caller; idle sessions expire.

    When the table is full, the caller with the most sessions loses one, so that a few callers cannot block others.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        *,
        who: Callable[[Any], Hashable] = lambda owner: owner,
        limit: int = 10_000,
        per_owner: int = 1_000,
        idle: float = 1800.0,
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._who = who
        self._limit = limit
        self._per_owner = per_owner
        self._idle = idle
        self._sessions: OrderedDict[str, McpSession] = OrderedDict()  # least recently used first
        self._used: dict[str, float] = {}
        self._busy: Counter[str] = Counter()
        self._owned: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[McpSession]:
        return iter(list(self._sessions.values()))

    def check_room(self, owner: Hashable) -> None:
        """Raises if this caller may not open another session."""
        self._expire()
        mine = self._owned.get(self._who(owner), 0)
        if mine >= self._per_owner or (len(self._sessions) >= self._limit and not self._make_room(mine)):
            raise TooManySessions

    def _make_room(self, mine: int) -> bool:
        """Ends the longest-idle session of the owner with the most, unless the new owner would then have more."""
        largest = max(self._owned, key=self._owned.__getitem__)
        if self._owned[largest] <= mine + 1:
            return False
        idle = (one for one in self._sessions.values() if one.owner == largest and not self._busy[one.id])
        if (session := next(idle, None)) is None:
            return False
        self.close(session)
        return True

    def open(self, owner: Hashable) -> McpSession:
        self.check_room(owner)
        owner = self._who(owner)
        session = McpSession(self._new_id(), owner)
        self._sessions[session.id] = session
        self._used[session.id] = self._clock()
        self._owned[owner] += 1
        return session

    def find(self, session_id: str, owner: Hashable) -> McpSession | None:
        """The session, if it is open and belongs to this caller; another caller's session is not found."""
        self._expire()
        session = self._sessions.get(session_id)
        if session is None or session.owner != self._who(owner):
            return None
        self._touch(session)
        return session

    def owner_of(self, caller: Hashable) -> Hashable:
        """The owner under which a caller's sessions are kept."""
        return self._who(caller)

    def is_same(self, one: Hashable, other: Hashable) -> bool:
        """Whether two callers share their sessions."""
        return self._who(one) == self._who(other)

    def close(self, session: McpSession) -> None:
        if self._sessions.pop(session.id, None) is not None:
            self._used.pop(session.id)
            self._busy.pop(session.id, None)
            self._owned[session.owner] -= 1
            if not self._owned[session.owner]:
                del self._owned[session.owner]
        session.close()

    def forget_watches(self, kept: Collection[str]) -> None:
        """Drops the subscriptions to removed upstreams; clients subscribe again if they want to."""
        for session in self:
            for uri, name in list(session.subscriptions.items()):
                if name not in kept:
                    session.subscriptions.pop(uri)
                    session.at_end.pop(f"watch {uri}", None)

    @contextmanager
    def using(self, session: McpSession) -> Iterator[None]:
        """Keeps a session from expiring while a request or stream uses it."""
        self._busy[session.id] += 1
        try:
            yield
        finally:
            if self._sessions.get(session.id) is session:  # The id may belong to a newer session by now.
                self._busy[session.id] -= 1
                self._touch(session)
            elif session.id not in self._sessions:
                self._busy.pop(session.id, None)

    def _touch(self, session: McpSession) -> None:
        self._used[session.id] = self._clock()
        self._sessions.move_to_end(session.id)

    def _expire(self) -> None:
        now = self._clock()
        for session in list(self._idle_sessions(now)):
            self.close(session)

    def _idle_sessions(self, now: float) -> Iterator[McpSession]:
        for session_id, session in self._sessions.items():
            if now - self._used[session_id] < self._idle:
                return
            if not self._busy[session_id]:
                yield session
