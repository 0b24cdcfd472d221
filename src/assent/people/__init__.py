"""Rooms for people: the API, the console, accounts, notifications and the embedded authorization server."""
