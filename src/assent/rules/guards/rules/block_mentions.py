"""Guard `block_mentions`: messages do not call everybody."""

from __future__ import annotations

import html
import re
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import readings, skeleton

_MENTION = re.compile(
    r"(?<![\w.])@([\w-]+)|@([\w-]+)(?![\w-]|\.\w)|<!\s{0,4}([\w-]+)[^>]{0,100}>|<at[^>]{0,100}>([^<]{0,100})</at>|<@[!&]?([\w-]+)[^>]{0,100}>"
)


_SIGNS = frozenset("@<&")


class BlockMentions(ValueRule):
    """No text may mention one of the names, by default those that call everybody.

    The forms of Slack, Discord and Teams count: `@here`, `<!here>`, `<at>here</at>`. With `most`, a text may have at
    most that many mentions of anybody. A mail address is not a mention.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"most": 2},
        passes=({"text": "Thanks @ann and @bob"}, {"text": "mail ann@here.example.com"}),
        objects=({"text": "@Everyone look"}, {"text": "<!channel|channel> hi"}, {"text": "@ann @bob @eve"}),
    )

    names: Annotated[tuple[str, ...], Field(description="The blocked names.")] = (
        *("everyone", "here", "channel", "all", "team", "room"),
    )
    most: Annotated[int | None, Field(ge=0, description="How many mentions one text may have.")] = None

    @cached_property
    def _blocked(self) -> frozenset[str]:
        return frozenset(skeleton(name).lstrip("@") for name in self.names)

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or (value.isascii() and _SIGNS.isdisjoint(value)):
            return None
        plain = html.unescape(value)
        for text in {*readings(plain), skeleton(plain)}:
            names = [next(filter(None, found), "") for found in _MENTION.findall(text)]
            if any(name.strip().lstrip("@") in self._blocked for name in names):
                return "it mentions a group that is not allowed"
            if self.most is not None and len(names) > self.most:
                return f"it has more than {self.most} mentions"
        return None
