"""Lists and calls the tools of a server, for commands and tests."""
