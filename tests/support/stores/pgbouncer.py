"""A real pgbouncer in transaction mode in front of the tests' PostgreSQL, where one is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def pooler(server_url: str, *more: str) -> Iterator[str]:
    """Runs pgbouncer with few sessions, so that transactions change between them; gives the URL of the database."""
    assert PGBOUNCER is not None
    parts = urlsplit(server_url)
    host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        folder, port = Path(name), _free_port()
        folder.chmod(0o755)
        lines = [
            "[databases]",
            f"postgres = host={host} port={parts.port or 5432} dbname=postgres user=postgres",
            "[pgbouncer]",
            "listen_addr = 127.0.0.1",
            f"listen_port = {port}",
            "unix_socket_dir =",
            "auth_type = any",
            "pool_mode = transaction",
            "default_pool_size = 3",
            "max_client_conn = 200",
            *more,
        ]
        (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        as_user = ["-u", Path(host).owner()] if os.geteuid() == 0 else []  # It refuses to run as root.
        process = subprocess.Popen(
            [PGBOUNCER, "-q", *as_user, str(folder / "pgbouncer.ini")], stderr=subprocess.DEVNULL
        )
        try:
            _wait_until_open(port)
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_until_open(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
