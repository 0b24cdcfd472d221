"""The embedded authorization server: people of the console give agents access to this gateway."""
