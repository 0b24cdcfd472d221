"""MCP servers that are processes of the gateway."""
