"""Arguments that a person reads as something else: text left out, look-alikes, links and hosts that lead elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client, StdioServerParameters

from assent.core.outcome import Pause
from assent.gateway.edge_ports import MOST_LOOKED_AT, real_paths
from assent.testing import World
from support.clients.transports import ROOT, Person
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import post, rpc, shop_gateway
from support.gateway.wrap_process import ASSENT, home

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


async def asked(**arguments: Any) -> list[str]:
    """The lines of the question about a call with these arguments."""
    world = World({"send": {"side_effect": "destructive"}})
    outcome = await world.call("send", arguments, can_ask=True)
    assert isinstance(outcome, Pause)
    return outcome.approval.text.splitlines()


async def test_what_stands_behind_four_thousand_characters_is_shown() -> None:
    lines = await asked(body="x" * 10_000 + " and send the keys to mallory")
    assert [line for line in lines if line.startswith('    + "')][-1].endswith(' and send the keys to mallory"')
    assert not any("not shown" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "twin"),
    [
        ("p\u0430ypal.com", "U+0430 CYRILLIC SMALL LETTER A"),
        ("/home/\u0440\u0430\u0443", "U+0440 CYRILLIC SMALL LETTER ER"),
        ("pay \u03bfnly once, g\u03bfogle", "U+03BF GREEK SMALL LETTER OMICRON"),
        ("\uff41dmin", "U+FF41 FULLWIDTH LATIN SMALL LETTER A"),
        ("\U0001d41admin", "U+1D41A MATHEMATICAL BOLD SMALL A"),
        ("example.com\u2215evil", "U+2215 DIVISION SLASH"),
        ("my\u2011file", "U+2011 NON-BREAKING HYPHEN"),
    ],
)
async def test_characters_that_look_like_others_are_named_in_a_warning(text: str, twin: str) -> None:
    warnings = [line for line in await asked(to=text) if line.startswith("Warning: to holds characters")]
    assert len(warnings) == 1 and twin in warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "Позвони маме, а с утра купи хлеб",
        "Καλημέρα, τι κάνεις",
        "東京の会社。よろしく：はい",
        "naïve café, straße, 10 m² – “quoted”, don’t",
        "Привет, this is English",
        "plain ascii",
    ],
)
async def test_text_of_another_script_is_not_warned_about(text: str) -> None:
    assert not [line for line in await asked(to=text) if line.startswith("Warning")]


async def test_of_very_many_look_alikes_the_rest_is_counted() -> None:
    lines = [line for line in await asked(to=["p\u0430y"] * 100) if line.startswith("Warning")]
    assert len(lines) == 21
    assert lines[-1] == "Warning: 80 more texts hold characters that look like others."


async def test_a_field_whose_name_looks_like_another_is_warned_about() -> None:
    assert any("the name" in line and "U+0430" in line for line in await asked(**{"\u0430mount": 1, "amount": 2}))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://bank.example@evil.example/login", "evil.example"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("https://ev\til.example/", "evil.example"),
        ("https:evil.example", "evil.example"),
        ("https:\\\\evil.example\\@bank.example/", "evil.example"),
        ("https://evil%2eexample/", "evil.example"),
        ("https://evil.example\\.bank.example/", "evil.example"),
        ("https://user:pass@[::1]:80/", "[::1]"),
    ],
)
async def test_the_host_that_a_link_leads_to_is_shown_where_another_may_be_read(url: str, host: str) -> None:
    assert f'Warning: url leads to the host "{host}".' in await asked(url=url)


@pytest.mark.parametrize(
    "url", ["https://bank.example/login?a@b", "HTTPS://Bank.Example:443", "mailto:a@b.example", "a: b"]
)
async def test_a_link_that_leads_where_it_says_gets_no_line(url: str) -> None:
    assert not [line for line in await asked(url=url) if line.startswith("Warning")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "desk" / "plain.txt").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return tmp_path.resolve()


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("{folder}/desk/link/new.txt", "{folder}/secret/new.txt"),
        ("link/new.txt", "{folder}/secret/new.txt"),
        ("link", "{folder}/secret"),
        ("{folder}/desk/../secret/key", "{folder}/secret/key"),
        ("../secret/key", "{folder}/secret/key"),
        ("file://{folder}/desk/%6cink/new.txt", "{folder}/secret/new.txt"),
        ("{folder}/desk/plain.txt", None),
        ("plain.txt", None),
        ("./plain.txt", None),
        ("read and/or write this", None),
        ("{folder}/loop", None),
        ("a\0b", None),
        ("~nobody-of-that-name/x", None),
    ],
)
def test_a_path_is_shown_with_the_real_one_where_they_differ(folder: Path, path: str, real: str | None) -> None:
    found = real_paths({"path": path.format(folder=folder)}, folder / "desk")
    assert found == ([] if real is None else [("path", real.format(folder=folder))])


def test_of_more_paths_than_are_looked_at_it_is_said_that_they_were_not(folder: Path) -> None:
    found = real_paths({"paths": ["x/" * 1000] * (MOST_LOOKED_AT // 2000 + 1)}, folder)
    assert [real for _, real in found] == ["not looked up: there is too much text"]


async def test_a_link_behind_a_path_is_shown_to_the_person_and_a_changed_one_asks_anew(folder: Path) -> None:
    environment = home(folder / "desk", "mode: enforce\n")
    arguments = [*ASSENT[1:], "wrap", "--", sys.executable, ODD]
    server = StdioServerParameters(command=ASSENT[0], args=arguments, env=environment, cwd=str(folder / "desk"))
    person = Person(["cancel", "cancel"])
    link = folder / "desk" / "link"
    async with Client(server, elicitation_callback=person) as client:
        await client.call_tool("delete_thing", {"path": str(link / "new.txt")})
        link.unlink()
        link.symlink_to(folder / "desk")
        await client.call_tool("delete_thing", {"path": str(link / "new.txt")})
    first, second = person.asked
    assert f'Warning: path leads to "{folder}/secret/new.txt" on this machine.' in first.splitlines()
    assert f'Warning: path leads to "{folder}/desk/new.txt" on this machine.' in second.splitlines()


async def test_the_page_of_an_approval_holds_all_of_a_long_text(tmp_path: Path) -> None:
    deleting = rpc("tools/call", name="delete_order", arguments={"order_id": "x" * 9_000 + "<b>end</b>"})
    async with shop_gateway(tmp_path) as (url, gateway_app, _shop), signed_in(url, gateway_app.store) as person:
        said = problem((await post(url, deleting)).json()["result"])
        page = (await person.get(urlsplit(said["approval_url"]).path)).text
        assert page.count("x" * 1_000) >= 9
        assert "&lt;b&gt;end&lt;/b&gt;" in page
