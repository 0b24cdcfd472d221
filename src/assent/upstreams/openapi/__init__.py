"""How does an HTTP API with an OpenAPI document become an upstream? See `api` and `upstream`."""
