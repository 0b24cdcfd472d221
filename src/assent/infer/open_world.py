"""Open-world hint and data-flow labels of a tool."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.inference import FlowLabels
from assent.infer.lexicon import NOUNS, READING

_OUTWARD: Final = frozenset({"send", "share", "drive"})
_LOOKING: Final = READING | {"make", "none", "noun"}
_OWN_BROWSER: Final = frozenset({"cookie", "cookies", "history", "session", "sessions", "storage", "tab", "tabs"})
# Excluded: a browser can show a private page, and an address can be a stored record.
_OUTSIDE: Final = (NOUNS["web"] | NOUNS["public"] | {"gmail", "whatsapp"}) - {"browser", "stock", "url", "urls", "uri"}
# Services whose data stays with a third party, even when it is deleted.
_HELD_ELSEWHERE: Final = frozenset({"gmail"})
_POSTED: Final = NOUNS["posted"] | NOUNS["mail"]
_ONLINE: Final = frozenset({"internet", "web", "website", "websites", "webpage", "webpages", "online"})


def reaches_out(tool: ToolFeatures, *, executes: bool) -> bool:
    """Whether the call reaches systems or people outside the account."""
    if tool.kind == "drive" or ("browser" in tool.words and not tool.words & _OWN_BROWSER):
        return True
    if executes:
        return _runs_outside(tool)
    if tool.kind in _LOOKING:
        return _looks_outside(tool)
    return _acts_outside(tool)


def _runs_outside(tool: ToolFeatures) -> bool:
    """Whether it runs a shell or a program on a host; a database statement does not count."""
    around = tool.words | tool.prose.opening
    return "sql" not in tool.inputs.flags and not around & (NOUNS["inside"] | NOUNS["database"])


def _looks_outside(tool: ToolFeatures) -> bool:
    """Whether it reads the web, a URL or public data."""
    words, prose = tool.words, tool.prose
    address = "url" in tool.inputs.flags and prose.opening & NOUNS["web"]
    return bool(address or words & _OUTSIDE or prose.opening & _ONLINE or prose.object & NOUNS["public"])


def _acts_outside(tool: ToolFeatures) -> bool:
    """Whether it sends or shows something to others, or fetches from elsewhere; sorting an existing message does not
    count.
    """
    words, prose = tool.words, tool.prose
    if tool.kind in _OUTWARD or prose.kind == "send":
        return not (words | prose.object) & NOUNS["inward"]
    if tool.kind == "destroy":
        return bool(words & _HELD_ELSEWHERE)
    posts = tool.name.verb in {"post", "reply"} and words & NOUNS["said"]
    fetches = "url" in tool.inputs.flags and words & {"from", "url", "urls"}
    hears = words & {"webhook", "webhooks"}
    return bool(posts or fetches or hears or words & _OUTSIDE or (words | prose.opening) & NOUNS["square"])


def label(tool: ToolFeatures, *, read_only: bool, open_world: bool, executes: bool) -> FlowLabels:
    """Return the three data-flow labels."""
    words, around = tool.words, tool.words | tool.prose.opening
    web = not around.isdisjoint(NOUNS["web"])
    returns = read_only or executes or tool.kind in {"drive", "session"}
    private = not around.isdisjoint(NOUNS["private"]) and words.isdisjoint(NOUNS["guide"])
    posted = not words.isdisjoint(_POSTED) or (open_world and (web or not around.isdisjoint(NOUNS["public"])))
    return FlowLabels(
        reads_private=not web and (executes or (returns and private)),
        sees_untrusted=returns and posted,
        public_sink=_is_public_sink(tool, read_only=read_only, open_world=open_world, executes=executes),
    )


def _is_public_sink(tool: ToolFeatures, *, read_only: bool, open_world: bool, executes: bool) -> bool:
    """Whether the caller's data can leave: sent, shared, or written into a URL."""
    if open_world and (executes or "url" in tool.inputs.flags):
        return True
    return not read_only and (tool.kind in _OUTWARD or bool(tool.words & NOUNS["outlet"]))
