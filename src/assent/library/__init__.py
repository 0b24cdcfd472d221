"""Contracts inside a server of the official SDK or FastMCP."""
