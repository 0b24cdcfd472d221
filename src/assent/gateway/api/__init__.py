"""What do people and their programs ask the gateway beside calling tools?"""

from assent.gateway.api.app import ApiApp

__all__ = ["ApiApp"]
