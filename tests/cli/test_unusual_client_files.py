"""Client files as people have them: line ends, byte order marks, anchors, comments between entries, no rights."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli.client_files.servers import entries_in, open_file
from assent.cli.init import init
from assent.errors import SettingsError

JSON = {
    "tabs.json": '{\n\t"mcpServers":\t{\n\t\t"a":\t{"command":\t"npx",\n\t\t\t"args":\t[\t"x"\t]\t}\n\t}\n}',
    "crlf.json": """\ufeff{
  "mcpServers": {
    "a": {
      "command": "npx",
      "args": [
        "x"
      ]
    }
  }
}
""".replace("\n", "\r\n"),
    "notes.json": """{ // top {
  "mcpServers": { /* { */ "a" /*k*/ : /*v*/ { "command" /*c*/ : "npx" , "args" : [ /*f*/ "x" , ] , } , } }""",
    "urls.json": """{"mcpServers": {
  "a": {"command": "npx"},
  "u": {"url": "https://a.example/mcp"}, // one
  "v": {"url": "https://b.example"} // two
}}""",
    "nested.json": """{"projects": {
  "/a": {"mcpServers": {"u": {"url": "https://a.example"}, "a": {"command": "npx"}}},
  "/b": {"mcpServers": {"u": {"url": "https://b.example"}}}}}""",
}
TOML = {
    "crlf.toml": """# top
[mcp_servers.a]
command = "npx" # c
args = [ "x" ]

[mcp_servers.u]
url = "https://a.example"
""".replace("\n", "\r\n"),
    "bom.toml": '\ufeff[mcp_servers.a]\ncommand = "npx"\n',
    "inline.toml": 'mcp_servers.a = { command = "npx", args = ["-y"] } # c\n[other]\nk = 1 # keep\n',
}
YAML = {
    "crlf.yaml": "extensions:\r\n  a:\r\n    cmd: npx # c\r\n    args:\r\n      - x\r\n",
    "bom.yaml": "\ufeffextensions:\n  a:\n    cmd: npx\n",
    "alias.yaml": """x: &common
  - -y
extensions:
  a:
    cmd: npx
    args: *common
  b:
    cmd: npx
    args: *common
""",
    "anchor.yaml": "extensions:\n  a:\n    cmd: npx\n    args: &own [one]\n  b:\n    cmd: npx\n    args: *own\n",
    "between.yaml": """mcpServers:
  # one
  - name: far
    url: https://a.example
  # two
  - name: near
    command: npx
  # three
  - name: far2
    url: https://b.example
    env:
      A: 1
# tail
rest: 1 # r
""",
    "columns.yaml": """mcpServers:
- name: a   # one
  command: npx
  args:
  - "x"
- name: u
  url:   https://a.example
# end
""",
}
FILES = {**JSON, **TOML, **YAML}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def run(path: Path, *words: str) -> Result:
    result = CliRunner().invoke(init, ["--client", str(path), *words])
    if isinstance(result.exception, SettingsError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def commands(text: str, name: str) -> dict[str, list[str]]:
    return {one.name: list(one.words) for one in entries_in(open_file(text, name).data) if one.command_key}


@pytest.mark.parametrize("name", FILES)
def test_each_server_is_wrapped_once_and_the_file_comes_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    path, text = tmp_path / name, FILES[name]
    path.write_bytes(text.encode())
    for _ in range(2):  # as it was, and after an undo
        run(path, "--write")
        written = path.read_bytes().decode()
        wrapped = commands(written, name)
        for server, words in commands(text, name).items():
            assert wrapped[server][1:] == ["wrap", "--", *words]
        if "\r\n" in text:
            assert written.count("\n") == written.count("\r\n")
        assert written.startswith("\ufeff") is text.startswith("\ufeff")
        assert "No change is needed" in run(path, "--write").output
        run(path, "--undo")
        assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("name", FILES)
def test_after_an_edit_an_undo_leaves_the_commands_as_they_were(name: str, tmp_path: Path) -> None:
    path, text = tmp_path / name, FILES[name]
    path.write_bytes(text.encode())
    run(path, "--write")
    with path.open("ab") as file:
        file.write(b"\n" if name.endswith("json") else b"\n# mine\n")
    run(path, "--undo")
    edited = path.read_bytes().decode()
    assert commands(edited, name) == commands(text, name)
    assert name.endswith("json") or "# mine" in edited


@pytest.mark.parametrize("name", ["between.yaml", "columns.yaml"])
def test_comments_between_and_after_moved_servers_stay(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    run(path, "--write")
    comments = [line.partition("#")[2] for line in FILES[name].splitlines() if "#" in line]
    assert [one for one in comments if one not in path.read_text()] == []


def test_a_file_that_must_not_be_written_leaves_the_configuration_alone_too(tmp_path: Path) -> None:
    path = tmp_path / "urls.json"
    path.write_text(FILES["urls.json"])
    path.chmod(0o444)
    with pytest.raises(SettingsError, match="Nothing was changed"):
        run(path, "--write")
    assert path.read_text() == FILES["urls.json"]
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["urls.json"]


def test_a_link_stays_a_link_and_a_command_need_not_exist(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "client.json"
    real.write_text('{"mcpServers": {"gone": {"command": "no-such-program"}}}')
    link.symlink_to(real)
    before = real.read_bytes()
    run(link, "--write")
    assert link.is_symlink() and "wrap" in real.read_text()
    run(link, "--undo")
    assert link.is_symlink() and real.read_bytes() == before
