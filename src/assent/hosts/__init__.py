"""What will hosts and directories make of a tool's hints?"""

from assent.hosts.matrix import Host, Row, hosts, matrix
from assent.hosts.submission import submission

__all__ = ["Host", "Row", "hosts", "matrix", "submission"]
