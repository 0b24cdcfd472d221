"""Several gateway processes on one port."""
