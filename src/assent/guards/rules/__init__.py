"""Guards, one per file with documentation and examples; `assent.guards.registry` loads them."""
