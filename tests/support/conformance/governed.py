"""The gateway as people run it, every tool claimed: `python -m conformance.governed URL`; prints its port."""

import asyncio
import sys
import tempfile
from pathlib import Path

import yaml
from mcp import Client

from assent.edges.pages import Pages
from assent.edges.server import bind, make_server
from assent.house import open_house
from assent.settings import parse_settings


async def names(url: str) -> list[str]:
    async with Client(url) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def main(url: str, folder: Path) -> None:
    contracts = {"tools": {name: {"side_effect": "compute"} for name in await names(url)}}
    (folder / "contracts.yaml").write_text(yaml.safe_dump(contracts))
    configuration = {
        "store": f"sqlite:///{folder}/assent.db",
        "upstreams": {"reference": {"url": url}},
        "contracts": [str(folder / "contracts.yaml")],
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"]}},
        "secrets": {"directory": str(folder / "keys")},
    }
    house = await open_house(parse_settings(yaml.safe_dump(configuration)))
    await house.start()
    listener = bind("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    await make_server(house.app(Pages(house)), drain=1, lifespan="off").serve(sockets=[listener])
    await house.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(main(sys.argv[1], Path(temporary)))
