"""Automatic fixes of findings in the files themselves."""

from assent.lint.fix.fixer import FixedFile, fix_file
from assent.lint.fix.write import write_all

__all__ = ["FixedFile", "fix_file", "write_all"]
