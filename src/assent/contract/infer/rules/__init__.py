"""Rules of the inference: tables as data, and the conditions that need code (ADR 0079)."""
