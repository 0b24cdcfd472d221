"""The HTTP API under `/api`, for people and their programs."""
