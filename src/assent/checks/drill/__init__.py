"""`assent drill`: published attack stories, replayed against a configuration in a sandbox.

`stories.yaml` tells each story: who published it, what happens, and what to change where it gets through; `plays.py`
plays those that are more than calls. A story runs against a gateway with your guards, policies, limits, profile, mode
and flow settings, in front of stand-in servers (`standin.py`). Your upstreams, store, keys and contracts take no part
(`sandbox.py`). See ADR 0135.
"""
