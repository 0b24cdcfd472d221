"""Configuration files of MCP clients: where they are, how their servers are written, how Assent edits them."""
