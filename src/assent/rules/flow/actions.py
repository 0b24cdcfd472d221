"""Whether the user's words ask for the kind of action that a tool performs."""

from __future__ import annotations

import re

from assent.core.tool import Tool
from assent.rules.flow.user_words import UserWords
from assent.rules.flow.values import word_set

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Each line is one kind of action: verbs of tools, and the words with which people ask for it.
_FAMILIES = (
    word_set(
        "send email mail message msg dm text write reply respond answer post tell notify inform forward publish tweet "
        "announce ping contact report say ask comment chat"
    ),
    word_set(
        "create add make new set setup schedule book plan insert put append include register open start generate draft "
        "save store record log remind upload submit copy duplicate note attach write"
    ),
    word_set(
        "delete remove erase clear drop cancel purge trash discard wipe destroy unsubscribe revoke kick ban close "
        "archive clean empty"
    ),
    word_set(
        "update change edit modify adjust reschedule move rename replace set correct fix alter switch amend extend "
        "postpone shift refresh reset upgrade"
    ),
    word_set("share invite grant give allow access permit join add include publish expose collaborate"),
    word_set(
        "pay transfer send buy purchase order spend refund reimburse subscribe donate wire remit settle checkout return"
    ),
    word_set("reserve book booking reservation order rent hire schedule"),
    word_set(
        "run execute call invoke trigger start launch deploy build restart stop install apply merge approve accept"
    ),
)


def asks_for(user: UserWords, tool: Tool) -> bool:
    """Whether the user wrote a word for what this tool does."""
    verbs = {part.lower() for part in _PARTS.findall(tool.name)}
    for family in _FAMILIES:
        if not verbs.isdisjoint(family) and any(user.contain_form(word) for word in family):
            return True
    return user.contain_any(verbs)
