"""Calls are stopped and released at the command line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mcp import Client

from assent.cli.stops import stops
from support.gateway.gateways import shop_gateway

SETTINGS = "upstreams: {{mail: {{url: 'http://127.0.0.1:9/mcp'}}}}\nstore: sqlite:///{0}/assent.db\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "assent.yaml"
    file.write_text(SETTINGS.format(tmp_path) + f"secrets: {{directory: {tmp_path}/keys}}\n")
    return file


def run(config: Path, *words: str, typed: str = "") -> Result:
    return CliRunner().invoke(stops, [*words, "-c", str(config)], input=typed)


def listed(config: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(config, "list", "--format", "json").stdout)
    return found


def test_what_is_stopped_is_listed_eased_and_released(config: Path) -> None:
    assert "Nothing is stopped" in run(config, "list").stderr
    said = run(config, "set", "upstream", "mail", "--reason", "it sends twice")
    assert said.exit_code == 0, said.output
    assert "Stopped: upstream mail. Every" in said.stdout
    (stop,) = listed(config)
    assert (stop["scope"], stop["target"], stop["level"]) == ("upstream", "mail", "all")
    assert stop["by"].startswith("operator:")
    assert "upstream" in run(config, "list").stdout
    assert run(config, "ease", stop["id"], "--reason", "found", "--yes").exit_code == 0
    assert listed(config)[0]["level"] == "effects"
    assert run(config, "release", stop["id"], "--reason", "repaired", "--yes").exit_code == 0
    assert listed(config) == []


@pytest.mark.parametrize("step", ["ease", "release"])
def test_calls_run_again_only_if_a_person_confirms_it(config: Path, step: str) -> None:
    run(config, "set", "everything", "--reason", "stop")
    (stop,) = listed(config)
    asked = run(config, step, stop["id"], "--reason", "go on")
    assert asked.exit_code == 2
    assert "nothing was done. In a script, add --yes" in asked.stderr
    assert listed(config) == [stop]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["everything", "mail"], "`everything` has no TARGET"),
        (["tool"], "`tool` needs the name"),
        (["upstream", "male"], "No upstream male is known here, so nothing was stopped. Did you mean mail? --anyway"),
        (["tool", "send", "--tenant", "acme"], "--tenant is for callers alone"),
        (["planet", "earth"], "'planet' is not one of"),
        (["caller", "  "], "`caller` needs the name"),
        (["caller", "\udcff"], "it is not UTF-8 text"),
        (["caller", "bob", "--tenant", "\udcff"], "it is not UTF-8 text"),
    ],
)
def test_what_cannot_be_meant_stops_nothing_and_says_so(config: Path, words: list[str], problem: str) -> None:
    said = run(config, "set", *words, "--reason", "test")
    assert said.exit_code == 2
    assert problem in said.stderr
    assert listed(config) == []


def test_a_second_stop_does_not_let_calls_through_and_spaces_name_nobody_else(config: Path) -> None:
    run(config, "set", "caller", "bob", "--anyway", "--reason", "he sends twice")
    said = run(config, "set", "caller", " bob ", "--effects", "--anyway", "--reason", "he sends mail")
    assert "Stopped: caller bob. Every" in said.stdout
    (stop,) = listed(config)
    assert (stop["target"], stop["level"], stop["reason"]) == ("bob", "all", "he sends mail")


@pytest.mark.parametrize("words", [[], ["--reason", "\udcff"], ["--reason", "  "], ["--reason", "x" * 501]])
def test_a_stop_needs_a_reason(config: Path, words: list[str]) -> None:
    assert run(config, "set", "everything", *words).exit_code == 2
    assert listed(config) == []


def test_an_unknown_stop_is_named_as_such(config: Path) -> None:
    for step in ("ease", "release"):
        said = run(config, step, "0" * 24, "--reason", "go on", "--yes")
        assert said.exit_code == 1
        assert "`assent stops list` shows those that are on" in said.stderr


def test_a_memory_store_is_refused_because_the_gateway_does_not_share_it(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text("store: 'memory:'\nupstreams: {}\n")
    said = CliRunner().invoke(stops, ["set", "everything", "--reason", "stop", "-c", str(file)])
    assert said.exit_code != 0
    assert "nothing was stopped" in str(said.exception) + said.output


async def test_a_running_gateway_obeys_within_a_second(config: Path) -> None:
    async with shop_gateway(config.parent) as (url, _, _), Client(url) as client:
        assert not (await client.call_tool("list_orders", {})).is_error
        await asyncio.to_thread(run, config, "set", "tool", "list_orders", "--reason", "it tells too much")
        await asyncio.sleep(1)
        stopped = await client.call_tool("list_orders", {})
        assert stopped.is_error
        assert "it tells too much" in str(stopped.content)
        (stop,) = await asyncio.to_thread(listed, config)
        await asyncio.to_thread(run, config, "release", stop["id"], "--reason", "repaired", "--yes")
        await asyncio.sleep(1)
        assert not (await client.call_tool("list_orders", {})).is_error


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("tool", "delete_ordr"), "Did you mean delete_order?"),
        (("tool", "Delete_Order"), "Did you mean delete_order?"),
        (("tool", "orders"), "Did you mean"),
        (("caller", "anonymus"), "Did you mean anonymous?"),
        (("caller", "anonymous", "--tenant", "lokal"), "No caller anonymous of the tenant lokal is known here"),
        (("upstream", "chop"), "Did you mean shop?"),
    ],
)
async def test_a_name_that_nobody_has_stops_nothing_unless_the_operator_insists(
    words: tuple[str, ...], hint: str, config: Path
) -> None:
    async with shop_gateway(config.parent) as (_, app, _):
        await app.tool_names.stop()
        config.write_text(config.read_text().replace("mail:", "shop:"))
        said = await asyncio.to_thread(run, config, "set", *words, "--reason", "an incident")
        assert said.exit_code == 2 and hint in said.stderr and "nothing was stopped" in said.stderr
        assert await asyncio.to_thread(listed, config) == []
        said = await asyncio.to_thread(run, config, "set", *words, "--anyway", "--reason", "an incident")
        assert "Stopped: " in said.stdout and len(await asyncio.to_thread(listed, config)) == 1


async def test_a_tool_that_was_never_called_is_known_beside_the_gateway(config: Path) -> None:
    async with shop_gateway(config.parent) as (_, app, _):
        await app.tool_names.stop()
        said = await asyncio.to_thread(run, config, "set", "tool", "delete_order", "--reason", "an incident")
        assert said.exit_code == 0, said.output
