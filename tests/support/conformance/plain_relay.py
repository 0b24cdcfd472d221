"""The relay alone in front of one upstream: `python -m conformance.plain_relay URL`; prints its port."""

import sys
import time

from assent.gateway.passthrough.relay import Relay
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool
from support.processes.servers import run_app


def relay_to(url: str) -> Relay:
    target = UpstreamAddress.of(url)
    circuit_breaker = CircuitBreaker("reference", time.monotonic)
    return Relay(
        Pool("reference", target, Limits(), circuit_breaker), Pool("reference", target, Limits(), circuit_breaker)
    )


if __name__ == "__main__":
    run_app(relay_to(sys.argv[1]))
