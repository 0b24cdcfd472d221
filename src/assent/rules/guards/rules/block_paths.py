"""Guard `block_paths`: files are not in blocked places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context, LookupNeeds
from assent.rules.guards.paths import (
    blocked_forms,
    fixed_part,
    folded,
    is_climbing,
    is_pattern,
    is_short_name,
    matches_glob,
    read_path,
)
from assent.rules.guards.rule import Examples, ValueRule


class BlockPaths(ValueRule):
    """No path in the fields may match a blocked glob, as it is written or as the file that it really is.

    A glob without a slash at its beginning matches at any depth: `.env`, `.git/**`. Upper and lower case are the same.
    Names are also compared without what systems ignore: trailing dots and spaces, streams, invisible characters.
    Symbolic links are followed when the call is checked, on the machine of the gateway. Set `base` to the folder that
    relative paths start from: without it, a relative path is taken to start at the root, and one that climbs (`../x`)
    is not allowed. A pattern (`.e*`, `{a,b}`) is not allowed, because it may be a blocked place.
    """

    needs_fields: ClassVar[bool] = True
    looks_up: ClassVar[bool] = True
    on_results: ClassVar[bool] = False
    changed: ClassVar[tuple[str, str]] = ("", "patterns such as .e* and {a,b} are refused")
    per_character: ClassVar[float] = 5.0
    most_characters: ClassVar[int] = 100_000
    examples: ClassVar[Examples] = Examples(
        {"fields": ["path"], "paths": ["/etc", ".env", ".ssh/**", "*.pem"]},
        passes=({"path": "/srv/files/a.txt"}, {"path": "notes/env"}, {"path": "/srv/etc/x"}),
        objects=(
            {"path": "/etc/passwd"},
            {"path": "/srv/../etc/passwd"},
            {"path": "app/.ENV."},
            {"path": "/home/ann/.ssh/id_rsa"},
            {"path": "keys\\server.pem::$DATA"},
        ),
    )

    paths: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(min_length=1, description="The blocked folders, files or globs."),
    ]
    base: str | None = Field(None, description="The folder that relative paths start from.")

    def needs(self, arguments: Mapping[str, Any]) -> LookupNeeds:
        texts = [value for _, value in self.scalars(arguments) if isinstance(value, str)]
        found = {path for text in texts for path in read_path(text, self.base).paths if path.startswith("/")}
        fixed = {fixed_part(pattern) for pattern in self.paths if pattern.startswith("/")}
        return LookupNeeds(paths=frozenset(found | fixed) if found else frozenset())

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str) or not value:
            return None
        readings = read_path(value, self.base)
        if readings.unclear is not None:
            return readings.unclear
        if any(map(is_pattern, readings.paths)):
            return "it is a pattern, which may be a blocked place"
        if any(map(is_short_name, readings.paths)):
            return "it may be the short name of another file"
        anchored = any(pattern.startswith("/") for pattern in self.paths)
        if anchored and any(map(is_climbing, readings.paths)):
            return "it leaves a folder that the guard does not know; set `base`"
        paths = {*readings.paths, *map(folded, readings.paths), *(f"/{path}" for path in readings.paths if anchored)}
        forms = {form for path in paths for one in (path, context.paths.get(path, path)) for form in blocked_forms(one)}
        blocked = {form for pattern in self.paths for form in self._forms(pattern, context)}
        hit = any(matches_glob(path, pattern) for path in forms for pattern in blocked)
        return "it is in a blocked place" if hit else None

    def _forms(self, pattern: str, context: Context) -> set[str]:
        """The glob as written, and with the links of its folder followed."""
        fixed = fixed_part(pattern) if pattern.startswith("/") else ""
        real = context.paths.get(fixed, fixed) + pattern[len(fixed) :] if fixed else pattern
        return {pattern.casefold(), real.casefold()}
