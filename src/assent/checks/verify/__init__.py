"""Verification: calls a server's tools and compares what happens with their promises."""
