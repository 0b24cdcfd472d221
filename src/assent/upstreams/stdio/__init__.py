"""Upstreams that are MCP servers run as child processes over stdio."""
