"""The gateway with nothing governed: `python -m conformance.gateway URL`; prints its port."""

import sys

from support.gateway.open_gateway import open_gateway
from support.processes.servers import run_app

if __name__ == "__main__":
    run_app(open_gateway(sys.argv[1]))
