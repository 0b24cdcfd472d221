"""Generates the reference pages of the documentation: `python -m assent.reference docs/reference`."""
