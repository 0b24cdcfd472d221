"""Tool contracts for the Model Context Protocol: declared once, derived everywhere, enforced on every call."""
