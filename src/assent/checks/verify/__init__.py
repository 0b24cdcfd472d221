"""Verification: calls a server's tools and compares what happens with their promises."""

from assent.checks.verify.databases import PostgresDatabase, SqliteDatabase, database_at
from assent.checks.verify.observe import Command, Observer
from assent.checks.verify.promises import Promises, promises_of
from assent.checks.verify.run import Checked, Verdict, verify
from assent.checks.verify.tool_check import Broken

__all__ = [
    "Broken",
    "Checked",
    "Command",
    "Observer",
    "PostgresDatabase",
    "Promises",
    "SqliteDatabase",
    "Verdict",
    "database_at",
    "promises_of",
    "verify",
]
