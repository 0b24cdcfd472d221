"""One engine per user: the process in which the servers of `assent wrap`, hooks and the console of a user meet.

`wire`, `find_or_start` and `door` import the standard library alone, because every start of a server waits for them.

See ADR 0180.
"""
