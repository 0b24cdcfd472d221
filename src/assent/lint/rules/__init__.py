"""Rules of the linter, one per file with documentation and examples; `assent.lint.run` loads them."""
