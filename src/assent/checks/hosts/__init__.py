"""Effects of a tool's hints in hosts and directories."""

from assent.checks.hosts.matrix import Host, Row, hosts, matrix
from assent.checks.hosts.submission import submission

__all__ = ["Host", "Row", "hosts", "matrix", "submission"]
