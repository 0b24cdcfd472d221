"""Does a server do what its tools promise?"""

from assent.verify.observe import Command, Observer, SqliteDatabase
from assent.verify.promises import Promises, promises_of
from assent.verify.run import Broken, Checked, Verdict, verify

__all__ = [
    "Broken",
    "Checked",
    "Command",
    "Observer",
    "Promises",
    "SqliteDatabase",
    "Verdict",
    "promises_of",
    "verify",
]
