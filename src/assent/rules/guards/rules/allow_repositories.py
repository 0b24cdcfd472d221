"""Guard `allow_repositories`: only allowed repositories are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule
from assent.rules.guards.values import Fields, named_scalars

_NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*\Z")
_REMOTE = re.compile(r"(?:(?:https|ssh)://(?:git@)?([a-z0-9.-]+)/|git@([a-z0-9.-]+):)(.*)", re.DOTALL)


def _check_pattern(pattern: str) -> str:
    if pattern.count("/") != 1:
        raise ValueError("a repository has an owner and a name; write acme/website or acme/*")
    return pattern.lower()


class AllowRepositories(GuardRule):
    """Every repository must match one of the patterns `owner/name`.

    The repository is read from one field with `owner/name` or its address at one of the `hosts`, or from a pair of
    fields, usually `owner` and `repo`. Upper and lower case are the same. A name with other characters than letters,
    digits, dots, hyphens and underscores is not allowed. A call that names no repository passes.
    """

    usual_fields: ClassVar[tuple[str, ...]] = (
        "repo",
        "repository",
        "repo_name",
        "full_name",
        "repository_url",
        "repo_url",
    )
    changed: ClassVar[tuple[str, str]] = ("hosts", "addresses of repositories count at github.com only")
    examples: ClassVar[Examples] = Examples(
        {"repositories": ["acme/website", "lab/*"]},
        passes=(
            {"owner": "acme", "repo": "website"},
            {"repository": "Lab/x.git"},
            {"repo_url": "git@github.com:lab/y.git"},
        ),
        objects=(
            {"owner": "evil", "repo": "website"},
            {"repo": "acme/website/../secret"},
            {"repo": "website"},
            {"repo_url": "https://evil.org/acme/website"},
        ),
    )

    repositories: Annotated[
        tuple[Annotated[str, AfterValidator(_check_pattern)], ...],
        Field(min_length=1, description="Patterns of the allowed repositories."),
    ]
    hosts: Annotated[
        tuple[Annotated[str, AfterValidator(str.lower)], ...],
        Field(description="The hosts at which an address counts as this repository."),
    ] = ("github.com",)
    owner: str = Field("owner", description="The field of the owner where it is a field of its own.")

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        owners = [one for one in Fields((self.owner,)).pick(arguments) if one is not None]
        found = [one for path, value in self.checked_values(arguments) for one in named_scalars(path, value)]
        for path, value in found:
            if value is not None and not self._is_allowed(value, owners):
                return path, "it is not one of the allowed repositories"
        if owners and not found and not all(self._owns(one) for one in owners):
            return self.owner, "it is not the owner of an allowed repository"
        return None

    def _is_allowed(self, value: Any, owners: list[Any]) -> bool:
        if not isinstance(value, str):
            return False
        plain = value.strip().lower()
        if (remote := _REMOTE.fullmatch(plain)) is not None:
            if (remote[1] or remote[2]) not in self.hosts or remote[3].count("/") != 1 + remote[3].endswith("/"):
                return False
            plain = remote[3]
        name = plain.removesuffix("/").removesuffix(".git")
        if "/" in name:
            full = [name] if not owners or all(str(one).lower() == name.partition("/")[0] for one in owners) else []
        else:
            full = [f"{str(one).strip().lower()}/{name}" for one in owners]
        return bool(full) and all(map(self._matches, full))

    def _matches(self, full: str) -> bool:
        parts = full.split("/")
        plain = len(parts) == 2 and all(_NAME.match(part) and ".." not in part for part in parts)
        return plain and any(fnmatchcase(full, pattern) for pattern in self.repositories)

    def _owns(self, owner: Any) -> bool:
        return isinstance(owner, str) and any(
            fnmatchcase(owner.lower(), pattern.partition("/")[0]) for pattern in self.repositories
        )
