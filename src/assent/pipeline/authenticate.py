"""Who is calling?"""

from __future__ import annotations

from assent.core.call import Request
from assent.core.principal import Principal
from assent.pipeline.journal import Journal
from assent.ports import Ports


async def authenticate(request: Request, ports: Ports, journal: Journal) -> Principal:
    """The principal behind the credentials; refused, never guessed. There is nobody to fall back to."""
    principal = await ports.authenticate(request.credentials)
    journal.principal = principal
    journal.passed(
        "authenticate", "%s %s of tenant %s, %s", principal.kind, principal.id, principal.tenant, principal.mode
    )
    return principal
