"""Tells the person at a desktop that a call waits for them; where there is no desktop, on standard error."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Mapping

from assent.core.approval import Approval
from assent.core.question import visible

_ENDS_WITHIN = 5.0
_SCRIPT = (
    "on run texts", "display notification (item 2 of texts) with title (item 1 of texts)", "end run",
)  # fmt: skip
_RUNNING: set[asyncio.Task[None]] = set()


def announce(
    approval: Approval, command: str | None, environment: Mapping[str, str], tell: Callable[[str], None]
) -> None:
    """Announce a call that waits. The environment is that of the client, whose desktop it is."""
    title = f"{visible(approval.tool)[:100]} waits for you"
    how = command or f"assent approvals show {approval.id}"
    words = notification_command(title, f"Decide with: assent console, or: {how}", environment)
    if words is None:
        return tell(f"assent wrap: {title}: {how}")
    task = asyncio.ensure_future(_show(words, environment, lambda: tell(f"assent wrap: {title}: {how}")))
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)


def notification_command(title: str, text: str, environment: Mapping[str, str]) -> list[str] | None:
    """The command that shows a notification; None where there is no desktop."""
    path = environment.get("PATH")
    if sys.platform == "darwin" and not environment.get("SSH_CONNECTION") and shutil.which("osascript", path=path):
        return ["osascript", *(part for line in _SCRIPT for part in ("-e", line)), title, text]
    has_desktop = environment.get("DBUS_SESSION_BUS_ADDRESS") and (
        environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    )
    if not has_desktop or not shutil.which("notify-send", path=path):
        return None
    # A notification may be shown as markup, so it is escaped.
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return ["notify-send", "--app-name=Assent", "--urgency=critical", "--", title, escaped]


async def _show(words: list[str], environment: Mapping[str, str], otherwise: Callable[[], None]) -> None:
    nothing = asyncio.subprocess.DEVNULL
    try:
        async with asyncio.timeout(_ENDS_WITHIN):
            process = await asyncio.create_subprocess_exec(
                *words, stdin=nothing, stdout=nothing, stderr=nothing, env=dict(environment)
            )
            if await process.wait() != 0:
                otherwise()
    except (OSError, TimeoutError):
        otherwise()
