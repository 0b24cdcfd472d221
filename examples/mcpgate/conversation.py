"""An assistant uses three servers through the gateway; the guardrails hold, whatever the assistant does.

Run it with `python examples/mcpgate/conversation.py`. It starts the gateway on a free port of this machine, keeps its
files in a temporary folder and ends by itself. With `--serve` the gateway goes on until Ctrl-C.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
KEYS = {name: f"demo-key-of-{name}" for name in ("assistant", "auditor", "ann")}
PROBLEM, CONTRACT = "dev.assent/problem", "dev.assent/contract"
WAIT = 60


class Gateway:
    """The running gateway, as a client sees it: plain HTTP and JSON."""

    def __init__(self, url: str) -> None:
        self.url = url

    def send(self, path: str, who: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {KEYS[who]}", "Accept": "application/json, text/event-stream"}
        data = json.dumps(body).encode() if body is not None else None
        request = Request(self.url + path, data, {**headers, "Content-Type": "application/json"})
        with urlopen(request, timeout=WAIT) as answer:
            return json.load(answer)

    def rpc(self, method: str, who: str, **params: Any) -> Any:
        return self.send("/mcp", who, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["result"]

    def call(self, who: str, tool: str, **arguments: Any) -> Any:
        """Make a call, print it in one line, and return its content or its problem."""
        result = self.rpc("tools/call", who, name=tool, arguments=arguments)
        problem = result.get("_meta", {}).get(PROBLEM) or (
            result["structuredContent"] if result.get("isError") else None
        )
        said = f"{problem['code']}: {problem['detail']}" if problem else result["structuredContent"]
        print(f"  {who:<9} {tool}({', '.join(map(str, arguments.values()))[:60]}) → {str(said)[:140]}")
        return problem or said


def environment(folder: Path) -> dict[str, str]:
    """The variables of assent.yaml."""
    keys = {f"{name.upper()}_KEY": key for name, key in KEYS.items()}
    places = {"PYTHON": sys.executable, "CONNECTORS": str(HERE / "connectors.py"), "BOOK": str(folder / "book.log")}
    return {**os.environ, **keys, **places}


def prepare(folder: Path) -> Path:
    """Copy the configuration, so that store and keys are made in that folder."""
    for name in ("assent.yaml", "contracts.yaml"):
        shutil.copy(HERE / name, folder)
    return folder / "assent.yaml"


def start(folder: Path) -> tuple[subprocess.Popen[bytes], Gateway]:
    """Start `assent serve` with the configuration in the folder, and wait until it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assent = Path(sys.executable).with_name("assent")
    command = [str(assent), "serve", "-c", str(folder / "assent.yaml"), "--port", str(port)]
    process = subprocess.Popen(command, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(WAIT * 10):
        try:
            urlopen(url + "/healthz", timeout=WAIT).close()
            return process, Gateway(url)
        except (HTTPError, URLError, ConnectionError):
            if process.poll() is not None:
                break
            time.sleep(0.1)
    process.terminate()
    raise SystemExit("The gateway did not start. Try: assent serve -c examples/mcpgate/assent.yaml --check")


def tell(gateway: Gateway) -> None:
    print("\n1 Every tool has hints, although its server sends none. The verb in the name decides.")
    tools = {tool["name"]: tool for tool in gateway.rpc("tools/list", "assistant")["tools"]}
    for name, tool in tools.items():
        hints = {key: value for key, value in tool["annotations"].items() if key != "title"}
        print(f"  {name:<22} " + " ".join(f"{key}={str(value).lower()}" for key, value in hints.items()))
    print("\n2 Reading runs at once; the guardrail masks the phone number.")
    gateway.call("assistant", "gmail_read_email", id="42")
    print("\n3 Guardrails refuse on the server, whatever the client thinks of the hints.")
    gateway.call("assistant", "gmail_send_email", to=["ann@example.com"], subject="Minutes", body="As agreed.")
    gateway.call("assistant", "gmail_send_email", to=["eve@evil.test"], subject="Minutes", body="As agreed.")
    gateway.call("assistant", "gmail_send_email", to=["ann@example.com"], subject="Key", body="AKIAIOSFODNN7EXAMPLE")
    gateway.call("assistant", "drive_get_file", path="legal/merger.txt")
    gateway.call("assistant", "github_update_file", path="a.py", branch="main", text="x")
    gateway.call("auditor", "gmail_create_draft", subject="Hello", body="Dear Anna")
    print("\n4 Deleting asks a person, with the tool's name and its arguments.")
    waiting = gateway.call("assistant", "gmail_delete_email", id="42")
    shown = gateway.send(f"/api/approvals/{waiting['approval']}", "ann")
    print("  ann       reads: " + " | ".join(line.strip() for line in shown["text"].splitlines() if line.strip())[:180])
    gateway.send(f"/api/approvals/{waiting['approval']}/approve", "ann", {})
    gateway.call("assistant", "gmail_delete_email", id="42")
    print("\n5 Extended metadata, outside the annotations.")
    extended = tools["gmail_delete_email"]["_meta"][CONTRACT]
    print("  " + str({key: extended[key] for key in ("risk_number", "category_label", "activity")}))
    print("\n6 The activity feed.")
    for line in gateway.send("/api/feed", "ann")["lines"]:
        print(f"  {line['text']}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        process, gateway = start(Path(folder))
        try:
            tell(gateway)
            print("\nWhat really happened: " + "; ".join((Path(folder) / "book.log").read_text("utf-8").splitlines()))
            if "--serve" in sys.argv[1:]:
                print(f"\nServing at {gateway.url}/mcp until Ctrl-C. The key of the assistant: {KEYS['assistant']}")
                process.wait()
        except KeyboardInterrupt:
            pass
        finally:
            process.terminate()
            process.wait(WAIT)


if __name__ == "__main__":
    main()
