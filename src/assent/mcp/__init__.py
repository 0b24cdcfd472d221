"""Model Context Protocol code shared by both directions: JSON-RPC, eras, sessions, streams, request state."""
