"""Guard `allow_channels`: messages go to allowed channels only."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule

_REFERENCE = re.compile(r"<#([A-Za-z0-9]+)(?:\|[^>]*)?>\Z")


class AllowChannels(ValueRule):
    """Every channel must match one of the patterns: its name, with or without `#`, or its id.

    Names are compared without regard to case. A reference such as `<#C024BE91L|general>` counts by its id, because
    anybody can write the name beside it. A channel name with other characters than letters, digits, hyphens, dots and
    underscores is not allowed.
    """

    usual_fields: ClassVar[tuple[str, ...]] = (
        *("channel", "channels", "channel_id", "channelId", "channel_name", "channelName", "conversation"),
        *("conversation_id", "room", "room_id", "chat_id"),
    )
    examples: ClassVar[Examples] = Examples(
        {"channels": ["#dev-*", "C024BE91L"]},
        passes=(
            {"channel": "#dev-ops"},
            {"channel": "DEV-web"},
            {"channel_id": "<#C024BE91L|dev>"},
            {"text": "#general"},
        ),
        objects=(
            {"channel": "general"},
            {"channel": "<#C99|dev-ops>"},
            {"channel": "dev-ops, general"},
            {"channel": "@eve"},
        ),
    )

    channels: Annotated[
        tuple[Annotated[str, AfterValidator(lambda name: name.lstrip("#").lower())], ...],
        Field(min_length=1, description="Patterns of the allowed channels, or their ids."),
    ]

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        text = str(value).strip()
        reference = _REFERENCE.match(text)
        name = (reference[1] if reference else text.removeprefix("#")).lower()
        plain = re.fullmatch(r"[a-z0-9._-]+", name) is not None
        return (
            None if plain and any(fnmatchcase(name, one) for one in self.channels) else "it is not an allowed channel"
        )
