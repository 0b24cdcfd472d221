"""MCP servers behind a URL."""
