"""Rules of the linter, one per file with documentation and examples; `assent.checks.lint.run` loads them."""
