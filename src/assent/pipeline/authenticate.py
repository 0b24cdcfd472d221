"""Stage `authenticate`: finds the principal behind the credentials."""

from __future__ import annotations

from assent.core.call import Request
from assent.core.principal import Principal
from assent.pipeline.trace import CallTrace
from assent.ports import Ports


async def authenticate(request: Request, ports: Ports, trace: CallTrace) -> Principal:
    """Return the principal of the credentials. Bad credentials are refused; there is no default principal."""
    principal = await ports.authenticate(request.credentials)
    trace.principal = principal
    trace.passed(
        "authenticate", "%s %s of tenant %s, %s", principal.kind, principal.id, principal.tenant, principal.mode
    )
    return principal
