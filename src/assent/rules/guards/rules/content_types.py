"""Guard `content_types`: results have only allowed kinds of content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule

ContentType = Literal["text", "structured", "image", "audio", "resource", "resource_link"]


class ContentTypes(GuardRule):
    """A result may have only the allowed kinds of content.

    Other guards cannot look into images, sound and binary files. A resource with binary content counts as `binary`,
    which is never allowed; `resource` allows resources with text. Masking removes the other parts.
    """

    takes_fields: ClassVar[bool] = False
    on_results: ClassVar[bool] = True
    masks: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"on": "results", "types": ["text", "structured", "resource"]},
        passes=(
            {"content": [{"type": "text", "text": "hello"}], "structuredContent": {"a": 1}},
            {"content": [{"type": "resource", "resource": {"uri": "a://b", "text": "x"}}]},
        ),
        objects=(
            {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]},
            {"content": [{"type": "resource", "resource": {"uri": "a://b", "blob": "aGVsbG8="}}]},
            {"content": [{"type": "resource_link", "uri": "a://b", "name": "b"}]},
        ),
    )

    types: Annotated[tuple[ContentType, ...], Field(min_length=1, description="The allowed kinds.")]

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        for path, kind in self.kinds_of(arguments):
            if kind not in self.types:
                return path, f"{kind[:40]} content is not allowed"
        return None

    def kinds_of(self, result: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Every part of a result with its kind."""
        content = result.get("content")
        found = [
            (f"content[{place}]", kind_of(part))
            for place, part in enumerate(content if isinstance(content, list) else ())
        ]
        return [*found, ("structuredContent", "structured")] if result.get("structuredContent") is not None else found


def kind_of(part: Any) -> str:
    """The kind of one part of a result's content."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "resource":
        resource = part.get("resource")
        if not (isinstance(resource, Mapping) and isinstance(resource.get("text"), str)) or resource.get("blob"):
            return "binary"
    return kind if isinstance(kind, str) else "unknown"
