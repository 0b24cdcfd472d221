"""The policy digest that approvals are bound to: a changed policy needs a new approval."""

from __future__ import annotations

from pathlib import Path

from assent.config.load import load_settings
from assent.config.rules import policies_of, policy_digest

FORBID = '@id("none")\nforbid (principal, action, resource) when { context.mode == "%s" };\n'


def digest(folder: Path) -> str:
    settings = load_settings(folder / "assent.yaml")
    return policy_digest(settings, policies_of(settings))


def test_the_digest_changes_with_the_policies_and_only_with_them(tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text("store: memory://\npolicies: [rules.cedar]\n")
    rules = tmp_path / "rules.cedar"
    rules.write_text(FORBID % "test")
    first = digest(tmp_path)
    assert digest(tmp_path) == first
    rules.write_text(FORBID % "live")
    assert digest(tmp_path) != first
