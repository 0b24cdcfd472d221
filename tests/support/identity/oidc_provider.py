"""A real identity provider (npm `oidc-provider`) in a process of its own, and a person who logs in there."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest

from support.console.plain_browser import Browser

_HERE = Path(__file__).parents[2]
_MODULES = Path(os.environ.get("ASSENT_TEST_IDP") or _HERE.parent / ".cache" / "idp" / "node_modules")
_NODE = shutil.which("node")
SECRET = "secret-of-the-console"
needs_provider = pytest.mark.skipif(
    _NODE is None or not (_MODULES / "oidc-provider").is_dir(), reason="run .ci/install-node-tools"
)


@asynccontextmanager
async def oidc_provider() -> AsyncIterator[str]:
    """The issuer's address, while the block runs."""
    assert _NODE is not None
    program = str(_HERE / "people" / "console" / "idp" / "provider.mjs")
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(_NODE, program, str(_MODULES), SECRET, stdout=pipe, stderr=nowhere)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while not (line := await process.stdout.readline()).startswith(b"http"):
                assert line, "the identity provider ended"
        yield line.decode().strip()
    finally:
        process.kill()
        await process.wait()


def oidc_settings(issuer: str, **more: Any) -> dict[str, Any]:
    groups = {"approvers": "approver", "admins": "admin", "operators": "operator"}
    said = {"issuer": issuer, "client_id": "console", "client_secret": SECRET, "groups": groups, **more}
    return {"oidc": said}


def continue_url(page: str) -> str:
    found = re.search(r'href="(http[^"]*)">Continue', page)
    assert found is not None, page
    return unescape(found[1])


async def log_in_at_provider(url: str, **form: str) -> str:
    """Log in at the provider as a person would; the address that it sends the browser back to."""
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.get(url)
        sent = False
        for _ in range(10):
            if answer.status_code == 200 and not sent:
                answer, sent = await client.post(str(answer.url), data=form), True
                continue
            assert answer.status_code in (302, 303), answer.text
            place = urljoin(str(answer.url), answer.headers["location"])
            if "/console/signin/oidc/callback" in place:
                return place
            answer = await client.get(place)
    raise AssertionError("the provider did not send the browser back")


async def begun(person: Browser, next: str = "") -> str:
    """The address at the provider to which the sign-in page leads."""
    page = await person.post("/console/signin/oidc", {"next": next})
    assert page.status_code == 200, page.text
    return continue_url(page.text)


async def sign_in_through(person: Browser, **form: str) -> httpx2.Response:
    """The console's answer to a whole sign-in."""
    return await person.client.get(await log_in_at_provider(await begun(person), **form))
