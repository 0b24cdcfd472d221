"""How do the agents of other libraries use a governed client?

One module per library, imported by name; none is needed by the rest of Assent.
"""
