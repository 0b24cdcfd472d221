"""The configuration file `assent.yaml`: model, loading, checks, pins, keys on disk."""
