"""One engine per user: the process in which the servers of `assent wrap`, hooks and the console of a user meet.

`wire`, `place` and `door` import the standard library alone, because every start of a server waits for them.
"""
