"""Upstreams: the servers behind the gateway, one package per kind, and what they share."""
