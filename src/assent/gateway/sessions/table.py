"""The open sessions of the handshake era, and who owns each of them."""

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from assent.edges.eventlog import EventLogs
from assent.edges.heard import Heard
from assent.edges.rpc import RequestId, RpcError


class TooManySessions(Exception):
    """No room for another session, in all or for this caller."""


class SessionTaken(Exception):
    """An upstream gave one session id to two callers."""


class Session:
    """One client's session: what it said of itself, what it was asked, what waits for its stream.

    The id is a name, not a credential: it opens nothing without the caller it belongs to.
    """

    def __init__(self, session_id: str, owner: Hashable, *, outbox: int = 256) -> None:
        self.id = session_id
        self.owner = owner
        self.version: str | None = None
        self.capabilities: dict[str, Any] | None = None
        self.log_level: str | None = None
        self.subscriptions: dict[str, str] = {}
        self.at_end: dict[str, Callable[[], Awaitable[None]]] = {}
        self.streaming = False
        self.logs = EventLogs()
        self.heard = Heard()
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._running: dict[RequestId, asyncio.Task[Any]] = {}
        self._cancelled: set[RequestId] = set()
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(outbox)

    def question(self) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        """An id for a request to the client, and the answer to come.

        An upstream may put questions of its own to the same client: one that guessed our id would collect our answer.
        """
        question_id = f"assent-{secrets.token_urlsafe(16)}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[question_id] = future
        return question_id, future

    def forget(self, question_id: str) -> None:
        self._asked.pop(question_id, None)

    def settle(self, response: dict[str, Any]) -> bool:
        """Hand a posted response to whoever asked; False where nobody did."""
        response_id: RequestId | None = response.get("id")
        future = self._asked.pop(response_id, None) if isinstance(response_id, str) else None
        if future is None or future.done():
            return False
        error = response.get("error")
        if isinstance(error, dict):
            future.set_exception(RpcError(_code(error), str(error.get("message", "")), error.get("data")))
        else:
            result = response.get("result")
            future.set_result(result if isinstance(result, dict) else {})
        return True

    @contextmanager
    def running(self, request_id: RequestId) -> Iterator[None]:
        """While the running task answers this request, the client may cancel it by its id."""
        task = asyncio.current_task()
        assert task is not None
        self._running[request_id] = task
        try:
            yield
        finally:
            if self._running.get(request_id) is task:
                del self._running[request_id]

    def cancel(self, request_id: Any) -> bool:
        """Cancel a request that is answered here; False where it is not."""
        task = self._running.pop(request_id, None) if isinstance(request_id, str | int) else None
        if task is None:
            return False
        self._cancelled.add(request_id)
        task.cancel()
        return True

    def was_cancelled(self, request_id: RequestId) -> bool:
        """Whether the client cancelled this request; asking clears it."""
        if request_id not in self._cancelled:
            return False
        self._cancelled.discard(request_id)
        return True

    def tell(self, message: dict[str, Any]) -> None:
        """Put a notification on the session's own stream; the oldest goes when nobody reads."""
        if self._outbox.full():
            self._outbox.get_nowait()
        self._outbox.put_nowait(orjson.dumps(message))

    async def next_message(self) -> bytes:
        """The next message for the session's stream; empty when the session is over."""
        return await self._outbox.get()

    def close(self) -> None:
        while not self._outbox.empty():
            self._outbox.get_nowait()
        self._outbox.put_nowait(b"")
        for future in self._asked.values():
            if not future.done():
                future.cancel()
        self._asked.clear()
        for farewell in self.at_end.values():
            _farewells.add(task := asyncio.ensure_future(farewell()))
            task.add_done_callback(_farewells.discard)
        self.at_end.clear()


_farewells: set[asyncio.Future[None]] = set()


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
        self._sessions: OrderedDict[str, Session] = OrderedDict()  # least recently used first
        self._used: dict[str, float] = {}
        self._busy: Counter[str] = Counter()
        self._owned: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
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

    def open(self, owner: Hashable, session_id: str | None = None) -> Session:
        """A new session; an upstream's own id may be adopted as its name."""
        self.check_room(owner)
        owner = self._who(owner)
        session = Session(session_id or self._new_id(), owner)
        if (earlier := self._sessions.get(session.id)) is not None:
            if earlier.owner != owner:
                raise SessionTaken
            self.close(earlier)
        self._sessions[session.id] = session
        self._used[session.id] = self._clock()
        self._owned[owner] += 1
        return session

    def find(self, session_id: str, owner: Hashable) -> Session | None:
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

    def close(self, session: Session) -> None:
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
    def using(self, session: Session) -> Iterator[None]:
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

    def _touch(self, session: Session) -> None:
        self._used[session.id] = self._clock()
        self._sessions.move_to_end(session.id)

    def _expire(self) -> None:
        now = self._clock()
        for session in list(self._oldest(now)):
            self.close(session)

    def _oldest(self, now: float) -> Iterator[Session]:
        for session_id, session in self._sessions.items():
            if now - self._used[session_id] < self._idle:
                return
            if not self._busy[session_id]:
                yield session


def _code(error: dict[str, Any]) -> int:
    code = error.get("code")
    return code if isinstance(code, int) else -32603
