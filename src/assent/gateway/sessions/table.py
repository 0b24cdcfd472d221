"""The open sessions of the handshake era, and who owns each of them."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from assent.mcp.session import McpSession


class TooManySessions(Exception):
    """No room for another session, in all or for this caller."""


class SessionTaken(Exception):
    """An upstream gave one session id to two callers."""


class SessionTable:
    """The open sessions: bounded in number, in all and per caller, and gone when idle for long enough.

    When all are taken, the caller with the most gives up one: a few callers cannot keep the others out.
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
        """Raise where another session of this caller would be one too many."""
        self._expire()
        mine = self._owned.get(self._who(owner), 0)
        if mine >= self._per_owner or (len(self._sessions) >= self._limit and not self._make_room(mine)):
            raise TooManySessions

    def _make_room(self, mine: int) -> bool:
        """End the idlest session of the owner who has the most, unless a newcomer would then have more than that."""
        largest = max(self._owned, key=self._owned.__getitem__)
        if self._owned[largest] <= mine + 1:
            return False
        idle = (one for one in self._sessions.values() if one.owner == largest and not self._busy[one.id])
        if (session := next(idle, None)) is None:
            return False
        self.close(session)
        return True

    def open(self, owner: Hashable, session_id: str | None = None) -> McpSession:
        """A new session; an upstream's own id may be adopted as its name."""
        self.check_room(owner)
        owner = self._who(owner)
        session = McpSession(session_id or self._new_id(), owner)
        if (earlier := self._sessions.get(session.id)) is not None:
            if earlier.owner != owner:
                raise SessionTaken
            self.close(earlier)
        self._sessions[session.id] = session
        self._used[session.id] = self._clock()
        self._owned[owner] += 1
        return session

    def find(self, session_id: str, owner: Hashable) -> McpSession | None:
        """The session, if it is open and this caller's; a stranger's looks exactly like none."""
        self._expire()
        session = self._sessions.get(session_id)
        if session is None or session.owner != self._who(owner):
            return None
        self._touch(session)
        return session

    def owner_of(self, caller: Hashable) -> Hashable:
        """To whom a session of this caller belongs."""
        return self._who(caller)

    def is_same(self, one: Hashable, other: Hashable) -> bool:
        """Whether what is one caller's is also the other's."""
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
        """What was watched at an upstream that is gone is watched no more: who still wants it asks again."""
        for session in self:
            for uri, name in list(session.subscriptions.items()):
                if name not in kept:
                    session.subscriptions.pop(uri)
                    session.at_end.pop(f"watch {uri}", None)

    @contextmanager
    def using(self, session: McpSession) -> Iterator[None]:
        """A session with a request under way or an open stream does not expire."""
        self._busy[session.id] += 1
        try:
            yield
        finally:
            if self._sessions.get(session.id) is session:  # its name may be another's by now
                self._busy[session.id] -= 1
                self._touch(session)
            elif session.id not in self._sessions:
                self._busy.pop(session.id, None)

    def _touch(self, session: McpSession) -> None:
        self._used[session.id] = self._clock()
        self._sessions.move_to_end(session.id)

    def _expire(self) -> None:
        now = self._clock()
        for session in list(self._oldest(now)):
            self.close(session)

    def _oldest(self, now: float) -> Iterator[McpSession]:
        for session_id, session in self._sessions.items():
            if now - self._used[session_id] < self._idle:
                return
            if not self._busy[session_id]:
                yield session
