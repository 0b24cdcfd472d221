"""Upstreams that are MCP servers behind a URL."""
