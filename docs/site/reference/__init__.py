"""Generates the reference pages of the documentation: `python -m docs.site.reference docs/reference`."""
