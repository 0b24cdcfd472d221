"""Shared by several commands: options, output, targets, access to the store and the log."""
