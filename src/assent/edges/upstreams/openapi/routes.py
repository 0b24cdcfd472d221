"""Does a written path belong to another operation than the one that was called?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from assent.edges.upstreams.openapi.operations import Operation


class Routes:
    """The paths of a document, as a server would match them.

    A value of several segments may spell the path of a neighbour: what was agreed to for one operation must not
    reach another.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._known = [(one.method, one.path, _pattern(one.path)) for one in operations]

    def other(self, operation: Operation, path: str) -> str | None:
        """The template of another operation of the same method that a path fits, or None."""
        decoded = unquote(path)
        for method, template, pattern in self._known:
            if method == operation.method and template != operation.path and pattern.fullmatch(decoded):
                return template
        return None


def _pattern(template: str) -> re.Pattern[str]:
    """A segment with a placeholder in it counts as any segment: rather one path too many is a neighbour's."""
    segments = ("[^/]+" if "{" in segment else re.escape(segment) for segment in template.split("/"))
    return re.compile("/".join(segments))
