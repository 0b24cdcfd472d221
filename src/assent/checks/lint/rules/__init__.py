"""Rules of the linter by topic: a YAML file with the texts and examples of its rules, and a module with their checks.

A rule `some-name` is checked by `check_some_name` for each tool or by `check_all_some_name` for a whole target, and
mended by `mend_some_name`. `assent.checks.lint.run` loads them.
"""
