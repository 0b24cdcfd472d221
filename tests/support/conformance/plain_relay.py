"""The relay alone in front of one upstream: `python -m conformance.plain_relay URL`; prints its port."""

import sys
import time

from assent.edges.relay import Relay
from assent.edges.upstreams.breaker import Breaker
from assent.edges.upstreams.pool import Limits, Pool
from assent.edges.upstreams.target import Target
from processes import run_app


def relay_to(url: str) -> Relay:
    target = Target.of(url)
    breaker = Breaker("reference", time.monotonic)
    return Relay(Pool("reference", target, Limits(), breaker), Pool("reference", target, Limits(), breaker))


if __name__ == "__main__":
    run_app(relay_to(sys.argv[1]))
