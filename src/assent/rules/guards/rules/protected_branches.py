"""Guard `protected_branches`: protected branches are not written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.addresses import decoded
from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule
from assent.rules.guards.text import skeleton
from assent.rules.guards.values import named_scalars

_PREFIX = re.compile(r"(?:refs/)?(?:heads|remotes)/|refs/")
_SUFFIX = re.compile(r"(?:\^\{[a-z]*\}|@\{[0-9]+\}|[~^][0-9]*)+\Z")
# Not a name of a branch for git: an option, a pattern, several names, a search, another branch's upstream.
_ODD = re.compile(r"[\s\x00-\x20~^?*\[\\{}\"'`<>();&|!$]|\.\.|@\{|//|/\.|^[-/.]|[/.]\Z")


class ProtectedBranches(GuardRule):
    """No call may name a protected branch.

    A branch is found behind `refs/heads/` and a remote's name, in a refspec such as `+work:main`, with a suffix such as
    `main@{0}`, in another case and percent-encoded. What is not one name or refspec counts as protected: a pattern
    (`refs/heads/*`), an option (`--all`), several names. So does `HEAD`, because it may be. A call without any of the
    fields is objected to as well, because the server would use its default branch; `when_missing: pass` lets it pass.
    """

    usual_fields: ClassVar[tuple[str, ...]] = (
        *("branch", "branch_name", "ref", "base", "target_branch", "targetBranch", "destination"),
        *("base_branch", "refspec"),
    )
    per_character: ClassVar[float] = 1.0
    most_characters: ClassVar[int] = 100_000
    examples: ClassVar[Examples] = Examples(
        {"branches": ["main", "release/*"]},
        passes=({"branch": "feature/x"}, {"branch": "maintenance"}, {"ref": "refs/heads/fix-1"}),
        objects=(
            {"branch": "main"},
            {"ref": "refs/heads/Main"},
            {"refspec": "+fix:main"},
            {"branch": "release/1.0"},
            {"refspec": "refs/heads/*:refs/heads/*"},
            {"branch": "--all"},
            {},
        ),
    )

    branches: Annotated[tuple[str, ...], Field(min_length=1, description="The protected branches, or patterns.")]
    when_missing: str = Field("deny", pattern="^(deny|pass)$", description="deny or pass a call that names no branch.")

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        if self.when_missing == "deny" and not self._named_branches(context.known_arguments(arguments)):
            return (self.fields or self.usual_fields)[0], "no branch is named, so it would be the default one"
        for path, value in self._named_branches(arguments):
            if any(self._is_protected(name) for name in branch_names(value)):
                return path, "the branch is protected"
        return None

    def _named_branches(self, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
        found = (one for path, value in self.checked_values(arguments) for one in named_scalars(path, value))
        return [(path, value) for path, value in found if isinstance(value, str) and value.strip()]

    def _is_protected(self, name: str) -> bool:
        return (
            name in ("head", "@", "")
            or _ODD.search(name) is not None
            or any(fnmatchcase(name, pattern.casefold()) for pattern in self.branches)
        )


def branch_names(text: str) -> set[str]:
    """Every branch that a reference, or several parted by commas, may mean, in lower case."""
    found = set[str]()
    for refspec in skeleton(decoded(text)).strip().strip(",").split(","):
        names = [_SUFFIX.sub("", part.strip().lstrip("+")) for part in refspec.split(":")]
        plain = {name for name in names if name} or {""}  # `:` alone pushes every branch that both sides have.
        found |= plain.union(*map(_behind_prefixes, plain))
    return found


def _behind_prefixes(name: str) -> set[str]:
    """The name without `refs/heads/` and the like, and without the name of a remote, in whatever order they are."""
    found = set[str]()
    while (prefix := _PREFIX.match(name)) is not None:
        name = name[prefix.end() :]
        found.add(name)
    behind = name.partition("/")[2]
    return found | {behind, *(_behind_prefixes(behind) if _PREFIX.match(behind) else ())} if behind else found
