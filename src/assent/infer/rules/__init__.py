"""Rules that conclude effects from features."""
