"""Every block of code on every page is what the program takes: commands, settings, contracts, JSON, imports."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from assent.cli import cli
from assent.config.load import parse_settings
from assent.contract.files import parse_written
from assent.errors import AssentError

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "adr" not in path.parts
}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?:sudo -u \w+ )?(?:\.venv/bin/)?(assent(?: .*)?)$", re.MULTILINE)
INLINE = re.compile(r"`(assent [a-z]+(?: [^`\n]*)?)`")
OTHER_FILES = ({"jobs"}, {"repos"}, {"suppressions"}, {"cases"}, {"config"}, {"mcpServers"})


def blocks(*languages: str) -> list[Any]:
    found = [(page, body) for page, text in PAGES.items() for kind, body in FENCE.findall(text) if kind in languages]
    return [pytest.param(body, id=f"{page}-{number}") for number, (page, body) in enumerate(found)]


def commands(text: str) -> Iterator[str]:
    for kind, body in FENCE.findall(text):
        if kind in ("console", "", "sh"):
            yield from COMMAND.findall(body.replace("\\\n", " "))
    yield from INLINE.findall(re.sub(FENCE, "", text))


def fault_of(line: str) -> str:
    """What is wrong with a command as a page writes it; empty if nothing is."""
    line = re.sub(r"\s#.*$|[|<>&;].*$|[\[\s]--(\s.*)?$|[\[\]…]", " ", line)
    words = shlex.split(line.replace("'", " ").replace('"', " "))[1:]
    command: click.Command = cli
    context = click.Context(cli)
    while words and isinstance(command, click.Group):
        inner = command.get_command(context, words[0])
        if inner is None:
            return "" if command.invoke_without_command or words[0].startswith("-") else f"no command {words[0]!r}"
        command, words = inner, words[1:]
    known = {option for one in command.get_params(click.Context(command)) for option in one.opts}
    unknown = [word.split("=")[0] for word in words if word.startswith("-") and word.split("=")[0] not in known]
    return f"unknown options {unknown}" if unknown else ""


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_exists_with_its_options(page: str) -> None:
    assert [(line, fault) for line in commands(PAGES[page]) if (fault := fault_of(line))] == []


@pytest.mark.parametrize("body", blocks("python"))
def test_every_python_block_compiles_and_its_imports_exist(body: str) -> None:
    tree = ast.parse(body)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    named = [node for node in imports if (getattr(node, "module", None) or "").split(".")[0] == "assent"]
    exec(compile(ast.Module(body=list(named), type_ignores=[]), "page", "exec"), {})


@pytest.mark.parametrize("body", blocks("json"))
def test_every_json_block_is_json(body: str) -> None:
    for line in body.splitlines() if body.count("\n{") else [body]:
        json.loads(line)


@pytest.mark.parametrize("body", blocks("yaml"))
def test_every_yaml_block_is_a_configuration_or_a_contract(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\$\{(\w+)\}", body):
        monkeypatch.setenv(name, "https://hooks.example.com/0123456789")
    written = yaml.safe_load(body) or {}
    if isinstance(written, list):
        written = {"guards": written}
        body = yaml.safe_dump(written)
    top = set(written)
    if any(kind <= top for kind in OTHER_FILES):
        return
    if top & {"tools", "sections"}:
        parse_written(body)
    else:
        parse_settings(body)


def test_a_wrong_snippet_is_noticed() -> None:
    assert fault_of("assent serv --check") and fault_of("assent serve --chekc")
    with pytest.raises(AssentError):
        parse_settings("upstream: {}")
