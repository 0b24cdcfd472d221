"""AgentDojo's attacks through the real gateway: `python -m bench.agentdojo`.

AgentDojo (Debenedetti et al., 2024) has 97 tasks of users and 26 injected tasks that have a list of calls, in four
environments: 609 pairs. Its environments run in a process of their own behind an MCP server (`environments.py`), and
`assent serve` in front of it. No model takes part. The agent (`conversation.py`) is the worst one possible: it makes
the calls of the user's task, and as soon as it has read an injected text it makes the calls that the text orders. The
person is the best one possible: yes to the calls that the user's task needs, no to all others. AgentDojo's own
`security()` and `utility()` decide whether the attack succeeded and whether the task was solved. See ADR 0136.
"""
