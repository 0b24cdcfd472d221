"""Sessions of clients: their table, notifications, re-authorization."""
