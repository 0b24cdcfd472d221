"""How does an agent call tools that others serve: what is asked first, what is repeated, what is written down?"""
