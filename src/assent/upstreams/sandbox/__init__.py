"""Boxes around stdio servers: what a server's contracts do not promise, the kernel does not let it do.

Nothing of this is imported unless an upstream, or `assent wrap`, names a sandbox.
"""
