"""Guard `protected_branches`: protected branches are not written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar
from urllib.parse import unquote

from pydantic import Field

from assent.guards.context import NO_CONTEXT, Context
from assent.guards.rule import Denial, Examples, GuardRule
from assent.guards.text import skeleton
from assent.guards.values import named_scalars

_PREFIX = re.compile(r"(?:refs/)?(?:heads|remotes)/|refs/")
_SUFFIX = re.compile(r"(?:\^\{[^}]*\}|@\{[^}]*\}|[~^][0-9]*)+\Z")


class ProtectedBranches(GuardRule):
    """No call may name a protected branch.

    A branch is found behind `refs/heads/` and a remote's name, in a refspec such as `+work:main`, with a suffix such as
    `main@{0}`, in another case and percent-encoded. `HEAD` counts as protected, because it may be. A call without any
    of the fields is objected to as well, because the server would use its default branch; `when_missing: pass` lets it
    pass.
    """

    usual_fields: ClassVar[tuple[str, ...]] = (
        *("branch", "branch_name", "ref", "base", "target_branch", "targetBranch", "destination"),
        *("base_branch", "refspec"),
    )
    examples: ClassVar[Examples] = Examples(
        {"branches": ["main", "release/*"]},
        passes=({"branch": "feature/x"}, {"branch": "maintenance"}, {"ref": "refs/heads/fix-1"}),
        objects=(
            {"branch": "main"},
            {"ref": "refs/heads/Main"},
            {"refspec": "+fix:main"},
            {"branch": "release/1.0"},
            {},
        ),
    )

    branches: Annotated[tuple[str, ...], Field(min_length=1, description="The protected branches, or patterns.")]
    when_missing: str = Field("deny", pattern="^(deny|pass)$", description="deny or pass a call that names no branch.")

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        found = [one for path, value in self.checked(arguments) for one in named_scalars(path, value)]
        named = [(path, value) for path, value in found if isinstance(value, str) and value.strip()]
        if not named:
            missing = self.when_missing == "deny"
            return (
                ((self.fields or self.usual_fields)[0], "no branch is named, so it would be the default one")
                if missing
                else None
            )
        for path, value in named:
            if any(self._is_protected(name) for name in branch_names(value)):
                return path, "the branch is protected"
        return None

    def _is_protected(self, name: str) -> bool:
        return name in ("head", "@", "") or any(fnmatchcase(name, pattern.casefold()) for pattern in self.branches)


def branch_names(text: str) -> set[str]:
    """Every branch that a reference may mean, in lower case."""
    found = set[str]()
    for part in skeleton(unquote(text)).strip().lstrip("+").split(":"):
        plain = _SUFFIX.sub("", part.strip())
        while (shorter := _PREFIX.sub("", plain, count=1)) != plain and _PREFIX.match(plain):
            found.add(plain)
            plain = shorter
        found |= {plain, plain.partition("/")[2]} if "/" in plain else {plain}
    return found if len(found) == 1 else found - {""}
