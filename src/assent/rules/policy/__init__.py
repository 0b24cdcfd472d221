"""Cedar policies: loading, the generated schema, and decisions."""
