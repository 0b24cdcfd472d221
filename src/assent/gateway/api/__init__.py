"""What do people and their programs ask the gateway beside calling tools?"""

from assent.edges.api.app import Api

__all__ = ["Api"]
