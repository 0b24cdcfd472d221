"""Rules of the inference: tables as data, the conditions that need code, and the verdicts from both (ADR 0079)."""
