"""The stories of `assent drill`: each has a source, and what it says about a configuration is true."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from assent.checks.drill.run import DrillResult, load_story, run, story_names, summary
from assent.checks.drill.sandbox import sandbox_for, sandbox_mode, sandbox_settings
from assent.config.load import load_settings, parse_settings, resolve_paths
from assent.config.model import Settings
from assent.errors import SettingsError

PAGE = (Path(__file__).parents[3] / "docs" / "drill.md").read_text("utf-8")
BEARS_NO_FIX = {"rug-pull", "session-id-as-credential", "token-passthrough", "dns-rebinding", "name-collision"}
BEARS_NO_FIX |= {"oversized-result", "invisible-characters"}


def settings_with(**given: Any) -> Settings:
    return parse_settings(yaml.safe_dump({"upstreams": {"own": {"url": "http://127.0.0.1:9/mcp"}}, **given}))


async def endings(settings: Settings, *names: str) -> dict[str, str]:
    return {one.name: one.ended.ending for one in await run(settings, names)}


@pytest.fixture(scope="module")
def by_default() -> list[DrillResult]:
    return asyncio.run(run(settings_with(), story_names()))


def table(results: list[DrillResult]) -> str:
    rows = [f"| {one.name} | {one.story.title} | [{one.story.published}]({one.story.source}) | {one.ended.ending} |"
            for one in results]  # fmt: skip
    return "\n".join(["| story | what happens | published | by default |", "|---|---|---|---|", *rows])


async def test_the_page_shows_how_each_story_ends_by_default(by_default: list[DrillResult]) -> None:
    assert table(by_default) in PAGE, f"docs/drill.md needs this table:\n{table(by_default)}"
    assert summary(by_default) in PAGE


async def test_few_attacks_get_through_by_default_and_fewer_with_the_preset(by_default: list[DrillResult]) -> None:
    assert sum(one.ended.ending == "let through" for one in by_default) <= 7
    recommended = await run(settings_with(preset="recommended"), story_names())
    left = [one.name for one in recommended if one.ended.ending == "let through"]
    assert left == ["shell-injection"]
    assert f"With `preset: recommended`: {summary(recommended).removeprefix('28 stories: ')}" in PAGE


async def test_a_box_stops_what_nothing_else_stops() -> None:
    """The stand-ins on this machine run in the box that the user's own servers have."""
    names = ("path-traversal", "shell-injection")
    server = {"command": ["cat"], "sandbox": "enforce"}
    open_paths = {"defaults": {"paths_outside_roots": "allow"}}
    confined = await endings(settings_with(upstreams={"own": server}, **open_paths), *names)
    assert set(confined.values()) == {"stopped"}
    observed = await endings(settings_with(upstreams={"own": {**server, "sandbox": "observe"}}, **open_paths), *names)
    assert set(observed.values()) == {"let through"}


@pytest.mark.parametrize(
    ("upstreams", "more", "mode"),
    [
        ({"a": {"command": ["x"], "sandbox": "enforce"}, "b": {"command": ["y"]}}, {}, "off"),
        ({"a": {"command": ["x"], "sandbox": "enforce"}, "b": {"url": "http://127.0.0.1:9/mcp"}}, {}, "enforce"),
        ({"a": {"command": ["x"]}}, {"preset": "recommended"}, "observe"),
        ({"b": {"url": "http://127.0.0.1:9/mcp"}}, {"preset": "recommended"}, "observe"),
        ({"b": {"url": "http://127.0.0.1:9/mcp"}}, {}, "off"),
    ],
)
def test_stand_ins_are_confined_as_the_least_confined_server(
    upstreams: dict[str, Any], more: dict[str, Any], mode: str
) -> None:
    assert sandbox_mode(settings_with(upstreams=upstreams, **more)) == mode


@pytest.mark.parametrize("name", story_names())
async def test_what_a_story_tells_to_change_helps(name: str, by_default: list[DrillResult], tmp_path: Path) -> None:
    story = load_story(name)
    assert (story.fix is None) == (name in BEARS_NO_FIX)
    fixed = settings_with(**(story.fix or {}))
    ended = next(one.ended for one in by_default if one.name == name)
    if ended.ending != "let through":
        return
    if story.pinned:
        (tmp_path / "assent.lock").write_text('{"version": 1, "upstreams": {}}')
        settings = resolve_paths(settings_with(), tmp_path)
    else:
        settings = fixed
    assert (await endings(settings, name))[name] != "let through"


@pytest.mark.parametrize("name", story_names())
def test_a_story_says_where_it_was_published_and_what_to_do(name: str) -> None:
    story = load_story(name)
    assert re.match(r"https://[^ ]+$", story.source)
    assert all(text.endswith(".") for text in (story.happens, story.change))
    assert story.play is not None or story.harm


async def test_observing_stops_nothing_that_a_person_is_asked_about() -> None:
    names = ["bulk-delete", "swapped-arguments", "replayed-approval", "forged-question"]
    results = await run(settings_with(mode="observe"), names)
    assert {one.ended.ending for one in results} == {"let through"}
    assert await endings(settings_with(mode="observe"), "double-charge") == {"double-charge": "stopped"}
    assert all(one.change.startswith("First set `mode: enforce`") for one in results)


async def test_a_policy_on_a_tier_applies_and_one_on_an_own_tool_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "rules.cedar").write_text(
        '@id("no-deletes") forbid (principal, action in Assent::Action::"destructive", resource);\n'
        '@id("own") forbid (principal, action == Assent::Action::"my_own_tool", resource);\n'
        '@id("server") forbid (principal, action, resource in Assent::Upstream::"own");\n'
    )
    (tmp_path / "assent.yaml").write_text(
        "upstreams: {own: {url: 'http://127.0.0.1:9/mcp'}}\npolicies: [rules.cedar]\nstore: sqlite:///own.db\n"
    )
    settings = load_settings(tmp_path / "assent.yaml")
    results = await run(settings, ["bulk-delete", "shell-injection"])
    assert [one.ended.ending for one in results] == ["stopped", "let through"]
    assert {one.name for one in tmp_path.iterdir()} == {"rules.cedar", "assent.yaml"}, "the drill leaves nothing behind"


@pytest.mark.parametrize("without_contract", ["withhold", "error"])
async def test_a_stand_in_is_tried_where_tools_without_a_contract_are_withheld(without_contract: str) -> None:
    settings = settings_with(without_contract=without_contract)
    assert await endings(settings, "shell-injection", "bulk-delete") == {
        "shell-injection": "let through",
        "bulk-delete": "asked",
    }


async def test_budgets_of_money_are_left_out_and_those_of_calls_apply(tmp_path: Path) -> None:
    money = {"match": {"tool": "refund_*"}, "amount": 100, "currency": "EUR", "per": "1d"}
    assert await endings(settings_with(budgets=[money]), "shell-injection") == {"shell-injection": "let through"}
    kept = settings_with(budgets=[money, {"amount": 1, "per": "1d"}])
    applied = sandbox_settings(load_story("shell-injection"), kept, "http://127.0.0.1:9", tmp_path).budgets
    assert [one.currency for one in applied] == [None]


@pytest.mark.parametrize("name", ["session-id-as-credential", "dns-rebinding"])
async def test_the_owner_is_answered_where_the_stranger_is_not(name: str, tmp_path: Path) -> None:
    async with sandbox_for(load_story(name), settings_with(), tmp_path) as sandbox:
        assert (await sandbox.play()).ending == "stopped"
        assert len(sandbox.reached) == 1


async def test_no_name_server_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    real = asyncio.get_running_loop().getaddrinfo

    async def look_up(host: Any, *given: Any, **more: Any) -> Any:
        asked.append(host)
        return await real(host, *given, **more)

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    found = await endings(settings_with(guards=[{"rule": "block_private_hosts"}]), "markdown-image", "metadata-address")
    assert found == {"markdown-image": "let through", "metadata-address": "stopped"}
    assert set(asked) <= {"127.0.0.1"}


async def test_a_configuration_that_is_wrong_is_no_success() -> None:
    with pytest.raises(SettingsError):
        await run(settings_with(guards=[{"rule": "no_such_rule"}]), ["shell-injection"])
