"""Checks of servers and configurations from outside: lint, verify, hosts, drill, probe, history."""
