"""The settings of a sandbox, and what a program needs to start."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from assent.config.load import load_settings
from assent.errors import SettingsError
from assent.upstreams.sandbox.grants import Attempt, Box, CannotConfine, Grants, host_rule, real_grants
from assent.upstreams.sandbox.network import asked_name
from assent.upstreams.sandbox.programs import find_program
from assent.upstreams.sandbox.usage import folders, variables_in

BAD = {
    "{command: [cat], sandbox: on}": "sandbox",
    "{command: [cat], sandbox: {read: [/srv]}}": "sandbox.mode",
    "{command: [cat], sandbox: {mode: enforce, read: [srv]}}": "is not a full path",
    "{command: [cat], sandbox: {mode: enforce, reads: [/srv]}}": "reads",
    "{command: [cat], sandbox: {mode: enforce, hosts: ['https://x.example']}}": "is not a host",
    "{command: [cat], sandbox: {mode: enforce, hosts: ['*']}}": "is not a host",
    "{command: [cat], sandbox: {mode: enforce, hosts: ['x.example:99999']}}": "is not a host",
    "{command: [cat], sandbox: {mode: enforce, env: ['A=B']}}": "env",
    "{url: 'http://127.0.0.1:1/mcp', sandbox: observe}": "only a process on this machine can be confined",
    "{command: [cat], auth: key, identity: per_user, key_env: K, sandbox: {mode: enforce, instances: by_tier}}": "tier",
}


@pytest.mark.parametrize("entry", BAD)
def test_wrong_settings_are_refused_with_the_reason(tmp_path: Path, entry: str) -> None:
    (tmp_path / "assent.yaml").write_text(f"upstreams: {{one: {entry}}}\n")
    with pytest.raises(SettingsError, match="one") as error:
        load_settings(tmp_path / "assent.yaml")
    assert BAD[entry] in str(error.value)


@pytest.mark.parametrize("word", ["off", "observe", "enforce"])
def test_a_word_is_enough(tmp_path: Path, word: str) -> None:
    (tmp_path / "assent.yaml").write_text(f"upstreams: {{one: {{command: [cat], sandbox: {word}}}}}\n")
    assert load_settings(tmp_path / "assent.yaml").upstreams["one"].sandbox.mode == word


def test_a_grant_does_not_lead_through_a_link_that_the_server_can_change(tmp_path: Path) -> None:
    own, secret = tmp_path / "own", tmp_path / "secret"
    own.mkdir()
    secret.mkdir()
    (tmp_path / "to own").symlink_to(own)
    (own / "planted").symlink_to(secret)
    (own / "deep").mkdir()
    (own / "deep" / "planted").symlink_to("../../secret")
    (tmp_path / "notes").symlink_to(own / "planted")
    for write in (own, tmp_path / "to own"):
        for path in (own / "planted", own / "deep" / "planted", tmp_path / "notes", tmp_path / "to own" / "planted"):
            with pytest.raises(CannotConfine, match="which the server itself can change"):
                real_grants([str(path)], [str(write)])
        assert real_grants([str(tmp_path / "to own" / "deep")], [str(write)]) == (str(own / "deep"),)
    assert real_grants([str(tmp_path / "notes")], []) == (str(secret),), "a link of the operator's own"


def test_a_grant_must_exist_and_is_not_everything(tmp_path: Path) -> None:
    with pytest.raises(CannotConfine, match="does not exist"):
        real_grants([str(tmp_path / "missing")])
    for everything in ("/", "/usr/.."):
        with pytest.raises(CannotConfine, match="whole file system"):
            real_grants([everything])
    (tmp_path / "link").symlink_to(tmp_path)
    assert real_grants([str(tmp_path / "link"), str(tmp_path)]) == (str(tmp_path.resolve()),)


def test_the_nearest_grant_decides() -> None:
    grants = Grants(read=("/srv",), write=("/srv/out",), hosts=(host_rule("a.example"), host_rule("*.b.example:99")))
    writes = Box(True, True)
    assert grants.allows(Attempt("write", "/srv/out/x"), writes)
    assert not grants.allows(Attempt("write", "/srv/out/x"), Box(False, True))
    assert not grants.allows(Attempt("write", "/srv/outside"), writes)
    assert grants.allows(Attempt("read", "/srv/out/x"), Box(False, False))
    assert not grants.allows(Attempt("read", "/etc/shadow"), writes)
    assert grants.allows(Attempt("network", "a.example:443"), writes)
    assert not grants.allows(Attempt("network", "a.example:25"), writes)
    assert grants.allows(Attempt("network", "x.b.example:99"), writes)
    assert not grants.allows(Attempt("network", "b.example:99"), writes)
    assert not grants.allows(Attempt("network", "a.example:443"), Box(True, False))


def test_a_virtual_environment_and_its_python_are_named_and_a_home_folder_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "server.py"
    script.write_text("")
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "secret.txt").write_text("")
    program = find_program([sys.executable, "server.py"], {"PATH": "/usr/bin"}, str(tmp_path))
    assert program.reads[str(script)] == "its script"
    assert str(tmp_path / "helper.py") in program.reads
    assert str(tmp_path) not in program.reads and str(tmp_path / "secret.txt") not in program.reads
    if sys.prefix != sys.base_prefix:
        assert program.reads[sys.prefix] == "its virtual environment"


def test_npx_runs_what_is_in_its_cache_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / ".npm" / "_npx" / "0123456789abcdef"
    package = folder / "node_modules" / "@x" / "server"
    package.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"_npx": {"packages": ["@x/server"]}}))
    (package / "package.json").write_text(json.dumps({"bin": {"server": "dist/index.js"}}))
    (package / "dist").mkdir()
    (package / "dist" / "index.js").write_text("")
    env = {"HOME": str(tmp_path), "PATH": _with_node(tmp_path)}
    program = find_program(["npx", "-y", "@x/server", "/srv"], env, str(tmp_path))
    assert program.command[1:] == [str(package / "dist" / "index.js"), "/srv"]
    assert program.reads[str(folder / "node_modules")] == "its package"
    with pytest.raises(CannotConfine, match="is not in the cache of npx"):
        find_program(["npx", "-y", "@x/other"], env, str(tmp_path))


def _with_node(folder: Path) -> str:
    (folder / "programs").mkdir()
    node = folder / "programs" / "node"
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    return f"{node.parent}:/usr/bin:/bin"


def test_uvx_runs_an_installed_tool(tmp_path: Path) -> None:
    tool = tmp_path / ".local/share/uv/tools/mcp-server-git/bin/mcp-server-git"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    found = find_program(["uvx", "mcp-server-git@1.0", "-r", "/srv"], env, None)
    assert found.command == [str(tool), "-r", "/srv"]
    with pytest.raises(CannotConfine, match="other is not installed for uvx"):
        find_program(["uvx", "other"], env, None)
    with pytest.raises(CannotConfine, match="downloads and installs"):
        find_program(["uv", "run", "server.py"], env, None)


def test_learned_folders_cover_what_was_used_and_are_never_broad(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"f{number}" / "x").mkdir(parents=True)
    used = [str(tmp_path / f"f{number}" / "x" / "file") for number in range(5)]
    assert folders(used) == sorted(str(tmp_path / f"f{number}" / "x") for number in range(5))
    assert folders([str(tmp_path / name) for name in "abc"]) == [str(tmp_path)]
    assert folders(["/lonely", "/etc/one"]) == ["/etc/one", "/lonely"]


def test_variables_are_found_in_the_code_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "index.js").write_text("const key = process.env.SERVICE_KEY")
    assert variables_in([str(tmp_path)], ["SERVICE_KEY", "OTHER_KEY"]) == ["SERVICE_KEY"]


@pytest.mark.parametrize("packet", [b"", b"\0" * 12, b"\0" * 40, b"x" * 600, b"\0\1\1\0\0\1" + b"\0" * 6 + b"\xff"])
def test_a_packet_that_is_no_question_names_nothing(packet: bytes) -> None:
    assert asked_name(packet) is None
