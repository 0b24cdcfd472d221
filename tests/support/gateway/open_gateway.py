"""What an endpoint has without a gateway around it: callers who need no key, and no other pages."""

from assent.core.principal import Principal
from assent.web.asgi import Headers, Receive, Scope, Send
from assent.web.http import respond_error


async def anybody(_headers: Headers, _scope: Scope) -> Principal:
    return Principal("anybody", "agent")


async def nowhere(scope: Scope, _receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await respond_error(send, 404, "Not Found")
