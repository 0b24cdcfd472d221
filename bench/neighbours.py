"""Other proxies and gateways in front of the same echo, each as its makers ship it.

Packages from the Python index go into environments of their own under `.cache/bench`, made at first use. What does not
install or does not start raises `NotRunning` with the reason.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from bench.gateway import ARGUMENTS, post
from bench.processes import process

ENVIRONMENTS = Path(__file__).parents[1] / ".cache" / "bench"
PATIENCE = 150.0
NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log /dev/null;
events {{ worker_connections 512; }}
http {{ access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  upstream echo {{ server 127.0.0.1:{upstream}; keepalive 64; }}
  server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000; location /health {{ return 204; }}
    location / {{ proxy_pass http://echo; proxy_http_version 1.1; proxy_set_header Connection ""; }} }} }}
"""


class NotRunning(Exception):
    """This neighbour cannot be measured here, and why."""


def find_nginx() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None:
        raise NotRunning("not installed (Debian: nginx-light)")
    return found


def environment(package: str) -> Path:
    """The programs of a package in an environment of its own."""
    place = ENVIRONMENTS / package
    if not (place / "installed").exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotRunning("does not install: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1][:120])
        (place / "installed").touch()
    return place / "bin"


def nginx_version() -> str:
    return subprocess.run([find_nginx(), "-v"], capture_output=True, text=True, check=False).stderr.rpartition("/")[2]


def version_of(package: str) -> str:
    """The version of a package in its own environment."""
    python = ENVIRONMENTS / package / "bin" / "python"
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


@contextmanager
def nginx(upstream: int, *, core: int | None = None) -> Iterator[tuple[int, int]]:
    """nginx with one worker, kept-alive connections and no log; gives the worker's process id and the port."""
    program, port = find_nginx(), free_port()
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder, "nginx.conf")
        file.write_text(NGINX.format(folder=folder, upstream=upstream, port=port))
        with process(program, "-c", str(file), "-e", "/dev/null", core=core) as running:
            wait_for(f"http://127.0.0.1:{port}/health", running)
            children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
            yield int(children[0]), port


@contextmanager
def hangar(upstream: int, *, core: int | None = None) -> Iterator[tuple[int, int]]:
    """MCP Hangar in its default mode, where a meta tool calls the tools of the servers behind it."""
    program, port = environment("mcp-hangar") / "mcp-hangar", free_port()
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        limit = {"rps": 100_000, "burst": 100_000}  # By default it answers ten calls a second.
        servers = {"echo": {"mode": "remote", "endpoint": f"http://127.0.0.1:{upstream}/mcp"}}
        Path(folder, "config.yaml").write_bytes(orjson.dumps({"mcp_servers": servers, "rate_limit": limit}))
        options = ["--config", "config.yaml", "serve", "--http", "--port", str(port), "--log-level", "ERROR"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with process(str(program), *options, core=core, cwd=folder, **quiet) as running:
            wait_for(f"http://127.0.0.1:{port}/health", running)
            yield running.pid, port


def hangar_call() -> bytes:
    calls = [{"mcp_server": "echo", "tool": "echo", "arguments": ARGUMENTS}]
    return post("tools/call", {"name": "hangar_call", "arguments": {"calls": calls}}, "Mcp-Name: hangar_call")


def wait_for(url: str, running: subprocess.Popen[str]) -> None:
    """Waits until something answers, however it does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if running.poll() is not None:
            raise NotRunning(f"ends at the start with {running.returncode}")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise NotRunning(f"does not answer within {PATIENCE:g} s")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
