"""Guards, one per file with documentation and examples; `assent.rules.guards.registry` loads them."""
