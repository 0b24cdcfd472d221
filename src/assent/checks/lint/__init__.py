"""Linter for tool definitions, contracts and configurations."""
