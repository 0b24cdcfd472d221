"""Hooks of coding agents: their built-in tools under the same contracts, rules and log as MCP tools.

A hook is a door like `assent wrap`: it reads one event of a client, asks the pipeline, and answers in the client's own
form. The client runs the tool, not Assent.
"""
