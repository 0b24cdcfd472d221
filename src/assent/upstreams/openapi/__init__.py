"""Upstreams that are HTTP APIs with an OpenAPI document. See `api` and `upstream`."""
