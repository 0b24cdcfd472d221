"""Adapters of the governed client for agent libraries.

One module per library, imported by name. The rest of Assent needs none of them.
"""
