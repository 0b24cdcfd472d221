"""The gateway: MCP endpoint, authentication, sessions, catalogue, API."""
