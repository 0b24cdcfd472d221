"""The navigation: groups of pages, in the order in which people need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assent.people.console.page import EVERYONE, Page

GROUPS = (
    ("", ("Overview", "Approvals", "Activity")),
    ("Control", ("Tools", "Upstreams", "Stop switch")),
    ("Records", ("Audit", "Claims", "Conversations")),
    ("Access", ("Connections", "Applications", "Keys", "Accounts")),
)


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One link of the navigation."""

    label: str
    href: str
    roles: frozenset[str]
    icon: str


Menu = tuple[tuple[str, tuple[MenuEntry, ...]], ...]


def menu_of(pages: Sequence[Page]) -> Menu:
    """The groups with their links. A page with a label that is in no group is a mistake."""
    labelled = {page.menu: page for page in pages if page.menu}
    if unknown := labelled.keys() - {label for _, labels in GROUPS for label in labels}:
        raise LookupError(f"in no group of the navigation: {', '.join(sorted(unknown))}")
    return tuple((group, tuple(_entry(label, labelled[label]) for label in labels)) for group, labels in GROUPS)


def _entry(label: str, page: Page) -> MenuEntry:
    return MenuEntry(label, f"/console{page.path}", page.roles or EVERYONE, label.lower().replace(" ", "-"))
