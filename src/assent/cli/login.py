"""`assent login`: connects an upstream that needs OAuth or a key."""

from __future__ import annotations

import asyncio
import sys
import time
import webbrowser
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import click

from assent.cli.shared.options import config_option, operator
from assent.core.secret_keys import Keyring
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings, UpstreamSettings
    from assent.upstreams.oauth.grants import SignIn
    from assent.upstreams.vault import CredentialVault

_PAGE = b"<!doctype html><title>Assent</title><p>%b You can close this page and go back to the terminal.</p>"


@click.command()
@click.argument("upstream")
@click.option("--no-browser", is_flag=True, help="Only print the address, for a machine without a browser.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The local port for the answer. Default: any.")
@click.option("--within", default=300, show_default=True, type=click.IntRange(1, 3600), help="Seconds to wait.")
@click.option("--scope", "scopes", multiple=True, help="A scope to ask for beside the usual ones. May be repeated.")
@click.option("--logout", is_flag=True, help="Forget the connection and end its token.")
@config_option
def login(
    upstream: str, no_browser: bool, port: int, within: int, scopes: tuple[str, ...], logout: bool, config: Path | None
) -> None:
    """Connect an upstream that needs OAuth: sign in with a browser, and the gateway keeps the token.

    With `auth: key`, enter the key, or send it on standard input.

    With `identity: shared` every caller uses this connection. With `identity: per_user` it is used only to list the
    tools; people connect their own accounts in the console.

    Example: assent login linear
    """
    from assent.config.load import OUTSIDE, find_settings

    settings = find_settings(config, unused=OUTSIDE, but=[f"upstreams.{upstream}"])
    entry = _entry(settings, upstream)
    if logout:
        asyncio.run(_logout(settings, upstream))
        return
    if entry.auth == "key":
        asyncio.run(_keep_key(settings, upstream, _read_key(upstream)))
    else:
        asyncio.run(_login(settings, upstream, entry, not no_browser, port, within, " ".join(scopes)))
    click.echo(f"{upstream} is connected.", err=True)


def _entry(settings: Settings, upstream: str) -> UpstreamSettings:
    entry = settings.upstreams.get(upstream)
    if entry is None:
        known = ", ".join(settings.upstreams) or "none"
        raise SettingsError(Fault(f"there is no upstream {upstream}", f"Configured: {known}"))
    if entry.auth is None:
        remedy = "Add `auth: oauth` or `auth: key`"
        raise SettingsError(Fault("it uses neither OAuth nor keys of people", remedy, f"upstreams.{upstream}"))
    if entry.command is not None:
        remedy = f"Write {entry.key_env} under `env`"
        raise SettingsError(Fault("its tools are listed with the key in `env`", remedy, f"upstreams.{upstream}"))
    if settings.store.startswith("memory:"):
        raise SettingsError(
            Fault("the token would be lost: the store is in memory", "Use SQLite or PostgreSQL", "store")
        )
    return entry


async def _login(
    settings: Settings, upstream: str, entry: UpstreamSettings, browser: bool, port: int, within: int, more: str
) -> None:
    from assent.upstreams.credentials import SHARED
    from assent.upstreams.errors import OAuthProblem
    from assent.upstreams.oauth.grants import begin_sign_in, finish_sign_in

    assert entry.url is not None
    try:
        async with asyncio.timeout(within), _Callback(port) as callback:
            own = entry.oauth
            started = await begin_sign_in(
                entry.url,
                callback.address,
                client_id=own.client_id,
                client_secret=own.client_secret,
                scopes=own.scopes,
                more=more,
            )
            _show(started, browser)
            answer = await callback.answer
            async with _vault(settings) as vault:
                await finish_sign_in(started, answer, vault, upstream, SHARED, operator(), time.time)
    except TimeoutError:
        remedy = "Run `assent login` again and finish in the browser"
        raise SettingsError(Fault(f"nobody signed in within {within} seconds", remedy)) from None
    except OAuthProblem as problem:
        remedy = "Try again later" if problem.temporary else "Check the upstream's address and its `oauth:` settings"
        raise SettingsError(Fault(problem.detail, remedy, f"upstreams.{upstream}")) from None


def _read_key(upstream: str) -> str:
    if sys.stdin.isatty():
        key = str(click.prompt(f"Key for {upstream}", hide_input=True, err=True)).strip()
    else:
        key = sys.stdin.readline().strip()
    if not key or not key.isascii() or not key.isprintable():
        raise SettingsError(Fault("the key is empty, or not printable ASCII", f"Run `assent login {upstream}` again"))
    return key


async def _keep_key(settings: Settings, upstream: str, key: str) -> None:
    from assent.upstreams.credentials import SHARED

    async with _vault(settings) as vault:
        await vault.put(upstream, SHARED, {"key": key}, by=operator())


@asynccontextmanager
async def _vault(settings: Settings) -> AsyncIterator[CredentialVault]:
    from assent.stores.open import open_store
    from assent.upstreams.vault import CredentialVault

    store = await open_store(settings.store)
    try:
        yield CredentialVault(store, lambda: Keyring(Path(settings.secrets.directory)).key("sealing"), time.time)
    finally:
        await store.close()


def _show(started: SignIn, browser: bool) -> None:
    click.echo(f"Sign in here: {started.url}", err=True)
    if browser and not webbrowser.open(started.url):
        click.echo("No browser could be opened. Open the address above on this machine.", err=True)


async def _logout(settings: Settings, upstream: str) -> None:
    from assent.upstreams.credentials import SHARED
    from assent.upstreams.oauth.grants import disconnect

    async with _vault(settings) as vault:
        done = await disconnect(vault, upstream, SHARED, operator())
    click.echo(f"{upstream} is disconnected." if done else f"{upstream} was not connected.", err=True)


class _Callback:
    """A listener on this machine for the one answer of the authorization server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.address = ""
        self.answer: asyncio.Future[Mapping[str, str]]

    async def __aenter__(self) -> _Callback:
        self.answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = (await reader.readuntil(b"\r\n")).decode("latin-1").split(" ")
                parts = urlsplit(line[1] if len(line) == 3 else "")
                found = line[0] == "GET" and parts.path == "/callback" and parts.query != ""
                text = b"Thank you." if found else b"This is not the answer of a sign-in."
                page = _PAGE % text
                status = b"200 OK" if found else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %b\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: %d\r\n"
                    b"connection: close\r\nreferrer-policy: no-referrer\r\n\r\n%b" % (status, len(page), page)
                )
                await writer.drain()
                if found and not self.answer.done():
                    self.answer.set_result(dict(parse_qsl(parts.query)))
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
