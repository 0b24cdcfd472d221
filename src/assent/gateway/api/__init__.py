"""The HTTP API under `/api`, for people and their programs."""

from assent.gateway.api.app import ApiApp

__all__ = ["ApiApp"]
