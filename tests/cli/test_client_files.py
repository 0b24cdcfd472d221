"""Files of MCP clients: wrapped, moved behind the gateway and restored, with comments and order intact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ASSENT = Path(sys.executable).with_name("assent")

CLAUDE_CODE = """{
  "numStartups": 12,
  "mcpServers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "server-filesystem", "/srv"], "env": {"A": "1"}},
    "linear": {"type": "http", "url": "https://mcp.example.com/mcp", 
               "headers": {"Authorization": "Bearer ${env:LINEAR}"}}
  },
  "projects": {
    "/home/ann/shop": {"history": [], "mcpServers": {"memory": {"command": "uvx", "args": ["memory"]}}}
  }
}
"""
VSCODE = """{
  // servers of the team
  "inputs": [{"id": "key", "type": "promptString"}],
  "servers": {
    "git": {
      "command": "uvx", /* pinned on purpose */
      "args": [
        // the server
        "mcp-server-git", // keep this version
      ],
    },
    "asks": {"type": "http", "url": "https://a.example.com/mcp", "headers": {"K": "${input:key}"}},
    "old": {"type": "sse", "url": "https://b.example.com/sse"}, // to be removed
  },
}
"""
ZED = """// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "local": {"source": "custom", "command": "some-command", "env": {}},
    "older": {"source": "custom", "command": {"path": "npx", "args": ["-y", "x"], "env": null}, "settings": {}}
  }
}
"""
CODEX = """# Codex
model = "gpt-5"

[mcp_servers.files] # local files
command = "npx"
args = [
  "-y", # no question
  "server-filesystem",
]

[mcp_servers.files.env]
DEBUG = "1"

[mcp_servers.linear]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "LINEAR_TOKEN"
"""
GOOSE = """GOOSE_MODEL: some-model  # the model
extensions:
  # built in
  developer:
    enabled: true
    type: builtin
    name: developer
  files:
    enabled: true
    type: stdio
    name: files
    cmd: npx
    args:
      - -y   # no question
      - server-filesystem
    envs: {}
  linear:
    enabled: true
    type: streamable_http
    name: linear
    uri: https://mcp.example.com/mcp
"""
CONTINUE = """name: Local
mcpServers:
  # search
  - name: search
    command: uvx
    args: ["search"]
  - name: linear
    type: streamable-http
    url: https://mcp.example.com/mcp
"""
DESKTOP = """{"mcpServers": {"files": {"command": "npx", "args": []}, "clock": {"command": "clock"}}}"""
GEMINI = """{"mcpServers": {
    "far": {"httpUrl": "https://mcp.example.com/mcp", "timeout": 5000},
    "near": {"command": "node", "args": ["server.js"], "trust": false}
}}"""
WINDSURF = '{"mcpServers":{"far":{"serverUrl":"https://mcp.example.com/mcp"},"near":{"command":"node"}}}\n'
CURSOR = '\ufeff{"mcpServers": {"near": {"command": "node", "args": ["a b", "\\u00e9"]}}}\r\n'

PLACES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", DESKTOP),
    "claude-code": (".claude.json", CLAUDE_CODE),
    "cursor": (".cursor/mcp.json", CURSOR),
    "vscode": (".config/Code/User/mcp.json", VSCODE),
    "codex": (".codex/config.toml", CODEX),
    "gemini": (".gemini/settings.json", GEMINI),
    "zed": (".config/zed/settings.json", ZED),
    "goose": (".config/goose/config.yaml", GOOSE),
    "continue": (".continue/config.yaml", CONTINUE),
    "windsurf": (".codeium/windsurf/mcp_config.json", WINDSURF),
}


def assent(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return subprocess.run([ASSENT, *words], cwd=home, env=env, capture_output=True, text=True, timeout=60)


def place(home: Path, client: str) -> Path:
    path = home / PLACES[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PLACES[client][1].encode())
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
@pytest.mark.parametrize("client", PLACES)
def test_every_client_is_wrapped_and_restored_byte_for_byte(client: str, tmp_path: Path) -> None:
    path = place(tmp_path, client)
    before = path.read_bytes()
    written = assent(tmp_path, "init", "--client", client, "--write")
    assert written.returncode == 0, written.stderr
    text = path.read_text(encoding="utf-8-sig")
    assert str(ASSENT) in text, "the full path of the command"
    assert "wrap" in text
    again = assent(tmp_path, "init", "--client", client, "--write")
    assert "No change is needed" in again.stderr
    undone = assent(tmp_path, "init", "--client", client, "--undo")
    assert undone.returncode == 0, undone.stderr
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.before-assent*"))


COMMENTS = {
    "vscode": ["// servers of the team", "/* pinned on purpose */", "// the server", "// keep this version"],
    "codex": ["# Codex", "# local files", "# no question"],
    "goose": ["# the model", "# built in", "# no question"],
    "continue": ["# search"],
    "zed": ["// Zed settings"],
}


@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
@pytest.mark.parametrize("client", COMMENTS)
def test_comments_survive(client: str, tmp_path: Path) -> None:
    path = place(tmp_path, client)
    assent(tmp_path, "init", "--client", client, "--write")
    text = path.read_text()
    assert [comment for comment in COMMENTS[client] if comment not in text] == []


def changed(tmp_path: Path, client: str) -> str:
    path = place(tmp_path, client)
    result = assent(tmp_path, "init", "--client", client, "--write", "-c", f"{client}.yaml")
    assert result.returncode == 0, result.stderr
    return path.read_text(encoding="utf-8-sig")


def test_servers_nested_under_projects_are_wrapped_too(tmp_path: Path) -> None:
    data = json.loads(changed(tmp_path, "claude-code"))
    assert data["projects"]["/home/ann/shop"]["mcpServers"]["memory"]["args"] == ["wrap", "--", "uvx", "memory"]
    assert data["mcpServers"]["files"]["env"] == {"A": "1"}


def test_servers_with_a_url_move_behind_the_gateway_with_their_headers(tmp_path: Path) -> None:
    path = place(tmp_path, "claude-code")
    result = assent(tmp_path, "init", "--client", "claude-code", "--write")
    data = json.loads(path.read_text())
    own = tmp_path / ".config/assent/clients/claude-code.yaml"
    [caller] = YAML(typ="safe").load(own.read_text())["auth"]["api_keys"]
    assert data["mcpServers"]["assent"] == {
        "type": "http",
        "url": "http://127.0.0.1:8420/mcp",
        "headers": {"Authorization": f"Bearer {caller['key']}"},
    }
    assert "linear" not in data["mcpServers"]
    upstream = YAML(typ="safe").load(own.read_text())["upstreams"]["linear"]
    assert upstream == {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${LINEAR}"}}
    assert own.stat().st_mode & 0o077 == 0
    assert "Moved behind the gateway: linear" in result.stderr


def test_a_server_of_the_older_transport_moves_as_one(tmp_path: Path) -> None:
    place(tmp_path, "vscode")
    assent(tmp_path, "init", "--client", "vscode", "--write")
    upstreams = YAML(typ="safe").load((tmp_path / ".config/assent/clients/vscode.yaml").read_text())["upstreams"]
    assert upstreams["old"] == {"url": "https://b.example.com/sse", "transport": "sse"}


def test_a_url_that_only_the_client_can_fill_in_stays(tmp_path: Path) -> None:
    path = place(tmp_path, "vscode")
    result = assent(tmp_path, "init", "--client", "vscode", "--write", "-c", "own.yaml")
    assert "asks is not changed: it uses a variable that only the client can fill in" in result.stderr
    assert "${input:key}" in path.read_text()
    assert '"assent": {"type": "http", "url": "http://127.0.0.1:8420/mcp"}, // to be removed' in path.read_text()


def test_each_format_stays_what_its_client_reads(tmp_path: Path) -> None:
    codex = tomllib.loads(changed(tmp_path, "codex"))["mcp_servers"]
    assert codex["files"]["args"] == ["wrap", "--", "npx", "-y", "server-filesystem"]
    assert codex["files"]["env"] == {"DEBUG": "1"} and codex["files"]["required"] is True
    assert codex["assent"] == {"url": "http://127.0.0.1:8420/mcp"}
    goose = YAML(typ="safe").load(changed(tmp_path, "goose"))["extensions"]
    assert goose["files"]["args"] == ["wrap", "--", "npx", "-y", "server-filesystem"]
    assert goose["developer"] == {"enabled": True, "type": "builtin", "name": "developer"}
    assert (goose["assent"]["uri"], goose["assent"]["type"]) == ("http://127.0.0.1:8420/mcp", "streamable_http")
    listed = YAML(typ="safe").load(changed(tmp_path, "continue"))["mcpServers"]
    assert listed[0]["args"] == ["wrap", "--", "uvx", "search"]
    assert listed[1] == {"name": "assent", "type": "streamable-http", "url": "http://127.0.0.1:8420/mcp"}
    zed = json.loads(changed(tmp_path, "zed").removeprefix("// Zed settings\n"))["context_servers"]
    assert zed["local"]["args"] == ["wrap", "--", "some-command"]
    assert zed["older"]["command"]["args"] == ["wrap", "--", "npx", "-y", "x"]
    gemini = json.loads(changed(tmp_path, "gemini"))["mcpServers"]
    assert gemini["assent"]["httpUrl"] == "http://127.0.0.1:8420/mcp"
    windsurf = json.loads(changed(tmp_path, "windsurf"))["mcpServers"]
    assert windsurf["assent"] == {"serverUrl": "http://127.0.0.1:8420/mcp"}


def test_undo_keeps_what_was_edited_since(tmp_path: Path) -> None:
    path = place(tmp_path, "cursor")
    assent(tmp_path, "init", "--client", "cursor", "--write")
    path.write_text(path.read_text(encoding="utf-8-sig").replace('{"near"', '{"new": {"command": "x"}, "near"'))
    undone = assent(tmp_path, "init", "--client", "cursor", "--undo")
    assert "your changes are kept" in undone.stderr
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers == {"new": {"command": "x"}, "near": {"command": "node", "args": ["a b", "é"]}}


def test_undo_does_not_need_the_wrapped_command(tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text('{"mcpServers": {"a": {"command": "/gone/assent", "args": ["wrap", "-c", "x", "--", "b", "c"]}}}')
    assert assent(tmp_path, "init", "--client", "client.json", "--undo").returncode == 0
    assert json.loads(path.read_text())["mcpServers"]["a"] == {"command": "b", "args": ["c"]}


def test_an_empty_entry_leaves_no_server_beside_it_ungoverned(tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text('{"mcpServers": {"gone": null, "a": {"command": "b"}}}')
    done = assent(tmp_path, "init", "--client", "client.json", "--write")
    assert "Wrapped: a." in done.stderr
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["gone"] is None
    assert servers["a"]["args"] == ["wrap", "--", "b"]


def test_a_yaml_file_that_nests_too_deeply_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "client.yaml").write_text("mcpServers: " + "[" * 20_000 + "]" * 20_000)
    done = assent(tmp_path, "init", "--client", "client.yaml", "--write")
    assert done.returncode != 0
    assert "client.yaml: cannot be read: it nests too deeply" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"mcpServers": {"a": {"command": "b" "args": []}}}', "line 1: a comma or } is missing"),
        ('{"mcpServers": {"a": {}, "a": {}}}', "'a' occurs twice"),
        ("{\n}\n}", "line 3: unexpected text"),
        ('{"other": 1}', "it lists no servers"),
        ("[" * 200 + "]" * 200, "nests too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text(text)
    result = assent(tmp_path, "init", "--client", "client.json", "--write")
    assert result.returncode == 2
    assert message in result.stderr
    assert path.read_text() == text


def test_a_yaml_file_that_cannot_be_read_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "our.yaml").write_text("mode: enforce\nextensions: [a\n")
    for words in (["init", "--client", "our.yaml"], ["add", "a", "http://x.example", "--offline", "-c", "our.yaml"]):
        wrong = assent(tmp_path, *words)
        assert wrong.stderr == (
            "error: our.yaml: cannot be read: line 3: expected ',' or ']', but got '<stream end>'. Correct it first\n"
        )


def test_an_unknown_client_is_named_with_a_suggestion(tmp_path: Path) -> None:
    result = assent(tmp_path, "init", "--client", "cursr")
    assert "cursr is neither a client nor a file. Did you mean cursor?" in result.stderr
    missing = assent(tmp_path, "init", "--client", "zed")
    assert "Zed has no file" in missing.stderr


def test_the_servers_of_clients_and_projects_are_kept_apart_and_undo_removes_what_was_added(tmp_path: Path) -> None:
    far = {"far": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${A}"}}}
    code = {"mcpServers": far, "projects": {"/srv/shop": {"mcpServers": {"far": {"url": "https://b.example.com/mcp"}}}}}
    files = {"cursor": {"mcpServers": far}, "claude-code": code}
    before = {}
    for client, content in files.items():
        path = place(tmp_path, client)
        path.write_text(json.dumps(content, indent=1))
        before[path] = path.read_bytes()
        assert assent(tmp_path, "init", "--client", client, "--write").returncode == 0
    made = {one.name: YAML(typ="safe").load(one.read_text()) for one in (tmp_path / ".config/assent/clients").iterdir()}
    assert len(made) == 3 and not (tmp_path / ".config/assent/assent.yaml").exists()
    assert len({one["public_url"] for one in made.values()}) == 3, "each gateway has a port of its own"
    assert len({one["auth"]["api_keys"][0]["key"] for one in made.values()}) == 3
    assert len({one["store"] for one in made.values()}) == 3
    shop = next(one for name, one in made.items() if "shop" in name)
    assert shop["upstreams"] == {"far": {"url": "https://b.example.com/mcp"}}
    for client in files:
        undone = assent(tmp_path, "init", "--client", client, "--undo")
        assert "is removed" in undone.stderr, undone.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert list((tmp_path / ".config/assent/clients").iterdir()) == []


def test_undo_puts_servers_back_into_a_file_that_was_edited_since(tmp_path: Path) -> None:
    path = place(tmp_path, "cursor")
    path.write_text('{"mcpServers": {"far": {"url": "https://mcp.example.com/mcp"}, "near": {"command": "node"}}}')
    assent(tmp_path, "init", "--client", "cursor", "--write")
    path.write_text(
        path.read_text().replace('{"mcpServers": {', '{"theme": "dark", "mcpServers": {"new": {"command": "x"}, ')
    )
    assert "your changes are kept" in assent(tmp_path, "init", "--client", "cursor", "--undo").stderr
    servers = {"new": {"command": "x"}, "far": {"url": "https://mcp.example.com/mcp"}, "near": {"command": "node"}}
    found = json.loads(path.read_text())
    assert found["theme"] == "dark"
    assert {name: {**one, "args": []} for name, one in found["mcpServers"].items()} == {
        name: {**one, "args": []} for name, one in servers.items()
    }
    assert list((tmp_path / ".config/assent/clients").iterdir()) == []


def test_undo_removes_from_a_named_configuration_only_what_it_added(tmp_path: Path) -> None:
    path = place(tmp_path, "cursor")
    path.write_text('{"mcpServers": {"far": {"url": "https://mcp.example.com/mcp"}}}')
    (tmp_path / "own.yaml").write_text("upstreams:\n  mine: {command: [x]}  # stays\n")
    assent(tmp_path, "init", "--client", "cursor", "--write", "-c", "own.yaml")
    assert "far:" in (tmp_path / "own.yaml").read_text()
    assent(tmp_path, "init", "--client", "cursor", "--undo", "-c", "own.yaml")
    assert (tmp_path / "own.yaml").read_text() == "upstreams:\n  mine: {command: [x]}  # stays\n"


def test_fifty_thousand_servers_are_wrapped_within_seconds(tmp_path: Path) -> None:
    servers = {f"s{number}": {"command": "node", "args": [str(number)]} for number in range(50_000)}
    path = tmp_path / "client.json"
    path.write_text(json.dumps({"mcpServers": servers}, indent=1))
    began = time.monotonic()
    assert assent(tmp_path, "init", "--client", "client.json", "--write").returncode == 0
    assert time.monotonic() - began < 30
    assert path.read_text().count('"wrap"') == 50_000
