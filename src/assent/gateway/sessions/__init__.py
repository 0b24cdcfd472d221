"""Client sessions: table, notifications, re-authorization of streams."""
