"""Which rules are there? One per file, each with its documentation and its examples; `assent.lint.run` finds them."""
