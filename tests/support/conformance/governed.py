"""The gateway as people run it, every tool claimed: `python -m conformance.governed URL [merged]`; prints its port.

`merged` adds an upstream that does not answer.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import Client

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import open_gateway
from assent.gateway.status_pages import StatusPages
from assent.web.server import bind, make_server


async def names(url: str) -> list[str]:
    async with Client(url) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def main(url: str, folder: Path, *, merged: bool) -> None:
    contracts = {"tools": {name: {"side_effect": "compute"} for name in await names(url)}}
    (folder / "contracts.yaml").write_text(write_yaml(contracts))
    configuration = {
        "store": f"sqlite:///{folder}/assent.db",
        "upstreams": {
            "reference": {"url": url} | ({"prefix": ""} if merged else {}),
            **({"absent": {"url": "http://127.0.0.1:9/mcp"}} if merged else {}),
        },
        "contracts": [str(folder / "contracts.yaml")],
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
        "secrets": {"directory": str(folder / "keys")},
    }
    gateway_app = await open_gateway(parse_settings(write_yaml(configuration)))
    await gateway_app.start()
    listener = bind("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    await make_server(gateway_app.app(StatusPages(gateway_app)), drain=1, lifespan="off").serve(sockets=[listener])
    await gateway_app.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(main(sys.argv[1], Path(temporary), merged="merged" in sys.argv))
