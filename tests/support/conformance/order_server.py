"""A server without contracts on standard streams: one tool with an output schema."""

from mcp.server import MCPServer
from pydantic import BaseModel


class Order(BaseModel):
    order_id: str
    amount: int


server = MCPServer("orders", log_level="ERROR")


@server.tool()
def place_order(item: str) -> Order:
    """Buys an item and charges the account."""
    return Order(order_id="o-1", amount=240)


if __name__ == "__main__":
    server.run("stdio")
