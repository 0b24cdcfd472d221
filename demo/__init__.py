"""Demo of a governed server."""
