"""Authentication of callers: API keys, tokens, Host and Origin checks."""
