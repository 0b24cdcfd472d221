"""Guard `allow_paths`: files are inside allowed folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.context import Context, LookupNeeds
from assent.rules.guards.paths import fixed_part, folded, matches_glob, read_path
from assent.rules.guards.rule import Examples, ValueRule


def _absolute(pattern: str) -> str:
    if not pattern.startswith("/"):
        raise ValueError("it is relative; write the whole path, such as /srv/files or /srv/*/public")
    return pattern


AbsolutePath = Annotated[str, AfterValidator(_absolute)]


class AllowPaths(ValueRule):
    """Every path in the fields must be inside one of the allowed folders or match one of the globs.

    The real path counts: every symbolic link is followed when the call is checked, on the machine of the gateway. `..`
    (before and after links are followed), percent-encoding, backslashes and compatibility characters are read as
    servers may read them, and each reading must be allowed. Set `base` to the folder that relative paths start from;
    without it they are not allowed. A hard link and a link made after the check are not seen.
    """

    needs_fields: ClassVar[bool] = True
    looks_up: ClassVar[bool] = True
    on_results: ClassVar[bool] = False
    per_character: ClassVar[float] = 5.0
    most_characters: ClassVar[int] = 100_000
    examples: ClassVar[Examples] = Examples(
        {"fields": ["path"], "paths": ["/srv/files"], "base": "/srv/files"},
        passes=({"path": "/srv/files/a.txt"}, {"path": "notes/a.txt"}, {"path": ["/srv/files"]}),
        objects=({"path": "/etc/passwd"}, {"path": "../../etc/passwd"}, {"path": "%2e%2e/x"}, {"path": "~/x"}),
    )

    paths: Annotated[tuple[AbsolutePath, ...], Field(min_length=1, description="The allowed folders, files or globs.")]
    base: AbsolutePath | None = Field(None, description="The folder that relative paths start from.")

    def needs(self, arguments: Mapping[str, Any]) -> LookupNeeds:
        texts = [value for _, value in self.scalars(arguments) if isinstance(value, str)]
        found = {path for text in texts for path in read_path(text, self.base).paths if path.startswith("/")}
        return LookupNeeds(
            paths=frozenset(found | {fixed_part(pattern) for pattern in self.paths}) if found else frozenset()
        )

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            return "it is not a path"
        readings = read_path(value, self.base)
        if readings.unclear is not None:
            return readings.unclear
        if not all(path.startswith("/") for path in readings.paths):
            return "it is relative, and the guard has no `base`"
        real = {context.paths.get(path, folded(path)) for path in readings.paths}
        allowed = [self._resolve_pattern(pattern, context) for pattern in self.paths]
        inside = all(any(matches_glob(path, pattern) for pattern in allowed) for path in real)
        return None if inside else "it is outside the allowed paths"

    def _resolve_pattern(self, pattern: str, context: Context) -> str:
        """The glob with the links of its folder followed, as those of the checked path are."""
        fixed = fixed_part(pattern)
        return context.paths.get(fixed, fixed).rstrip("/") + pattern.rstrip("/")[len(fixed.rstrip("/")) :]
