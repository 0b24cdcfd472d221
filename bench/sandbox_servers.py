"""Public servers in their boxes: what each needed, and which tools answer as they do without one.

`python -m bench.sandbox_servers SERVERS.json`. The file lists objects with `name`, `command`, and where needed `env`,
`sandbox` (read, write, hosts) and `calls` ({tool: arguments}). `{folder}` in any of them is a scratch folder that the
sandbox grants for writing. Every tool in `calls`, and every tool that is inferred to read, is called once without a
sandbox and once in each kind of box; a tool is unchanged if it fails or succeeds alike.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client

from assent.config.load import parse_settings
from assent.config.model import Settings
from assent.contract.infer import classify
from assent.gateway.app import open_gateway
from assent.gateway.status_pages import StatusPages

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.servers.loopback_server import serving

WITHIN = 20.0


def example(name: str, schema: Any, folder: str, depth: int = 0) -> Any:
    """A plain value that fits a schema well enough for most tools."""
    if not isinstance(schema, dict) or depth > 4:
        return "x"
    if "enum" in schema or "const" in schema or "default" in schema:
        return schema.get("default", schema.get("const", schema.get("enum", [None])[0]))
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        given = schema.get("properties", {})
        return {key: example(key, given.get(key, {}), folder, depth + 1) for key in schema.get("required", [])}
    if kind == "array":
        return [example(name, schema.get("items", {}), folder, depth + 1)]
    plain = {"integer": 1, "number": 1, "boolean": False, "null": None}
    return plain[kind] if kind in plain else example_text(name.lower(), folder)


def example_text(name: str, folder: str) -> str:
    for word, value in (("repo", f"{folder}/repo"), ("dir", folder), ("path", f"{folder}/note.txt"),
                        ("file", f"{folder}/note.txt"), ("url", "https://example.com/"), ("uri", "file:///x"),
                        ("sql", "SELECT 1"), ("query", "SELECT 1"), ("timezone", "UTC"), ("time", "12:00"),
                        ("expression", "1+1")):  # fmt: skip
        if word in name:
            return value
    return "example"


def prepare(folder: Path) -> None:
    """The same scratch folder for every run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "note.txt").write_text("a note\n")
    repo = folder / "repo"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", str(repo)]
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "a.txt").write_text("a\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)


def filled(value: Any, folder: Path) -> Any:
    return json.loads(json.dumps(value).replace("{folder}", str(folder)))


def settings_of(server: dict[str, Any], folder: Path, sandbox: dict[str, Any] | str, place: Path) -> Settings:
    upstream = {"command": server["command"], "env": server.get("env", {}), "sandbox": sandbox, "timeout": "60s"}
    whole = {"store": "memory://", "mode": "observe", "secrets": {"directory": str(place / "keys")},
             "upstreams": {"one": filled(upstream, folder)},
             "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}}}  # fmt: skip
    return parse_settings(json.dumps(whole), str(place / "assent.yaml"))


async def answers(server: dict[str, Any], folder: Path, sandbox: dict[str, Any] | str) -> dict[str, Any]:
    """How each tool answered: whether it failed, and where a sandbox stopped it, the setting."""
    prepare(folder)
    with tempfile.TemporaryDirectory() as place:
        app = await open_gateway(settings_of(server, folder, sandbox, Path(place)))
        try:
            await app.start()
            if trouble := app.tools.troubles.get("one"):
                return {"": trouble}
            async with serving(app.app(StatusPages(app))) as url, Client(url, mode="legacy") as client:
                found: dict[str, Any] = {}
                for tool in (await client.list_tools()).tools:
                    definition = tool.model_dump(by_alias=True, exclude_none=True)
                    given = filled(server.get("calls", {}), folder).get(tool.name)
                    if given is None and classify(definition).tier != "read":
                        found[tool.name] = "listed"
                        continue
                    arguments = given if given is not None else example("", definition["inputSchema"], str(folder))
                    found[tool.name] = await answer(client, tool.name, arguments)
                return found
        finally:
            await app.stop(within=0.5)


async def answer(client: Any, tool: str, arguments: dict[str, Any]) -> str:
    try:
        async with asyncio.timeout(WITHIN):
            said = await client.call_tool(tool, arguments)
    except Exception as error:
        return f"failed ({type(error).__name__})"
    if not said.is_error:
        return "succeeded"
    stopped = re.search(r"To allow it: (.+?) Do not repeat", said.content[0].text if said.content else "")
    return f"stopped: {stopped[1]}" if stopped else "failed"


async def judge(server: dict[str, Any], folder: Path) -> dict[str, Any]:
    grants = {"write": ["{folder}"], **server.get("sandbox", {})}
    plain = await answers(server, folder, "off")
    if "" in plain:
        return {"name": server["name"], "does not start here": plain[""]}
    row: dict[str, Any] = {"name": server["name"], "tools": len(plain), "grants": grants}
    for instances in ("one", "by_tier"):
        boxed = await answers(server, folder, {"mode": "enforce", "instances": instances, **grants})
        row[instances] = {tool: (how, boxed.get(tool, boxed.get("", "absent"))) for tool, how in plain.items()
                          if how != boxed.get(tool)}  # fmt: skip
    row["called"] = sum(1 for how in plain.values() if how != "listed")
    row["succeeded"] = sum(1 for how in plain.values() if how == "succeeded")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sandbox_servers", description=__doc__)
    parser.add_argument("servers", type=Path)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    folder = Path.home() / f"assent-sandbox-servers-{os.getpid()}"
    for server in json.loads(chosen.servers.read_text()):
        if chosen.only and chosen.only not in server["name"]:
            continue
        try:
            row = asyncio.run(judge(server, folder))
        except Exception as error:
            row = {"name": server["name"], "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(row), flush=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
