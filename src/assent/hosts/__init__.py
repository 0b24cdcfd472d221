"""Effects of a tool's hints in hosts and directories."""

from assent.hosts.matrix import Host, Row, hosts, matrix
from assent.hosts.submission import submission

__all__ = ["Host", "Row", "hosts", "matrix", "submission"]
