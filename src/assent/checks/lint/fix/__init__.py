"""Automatic fixes of findings in the files themselves."""

from assent.checks.lint.fix.fixer import FixedFile, fix_file, write_all

__all__ = ["FixedFile", "fix_file", "write_all"]
