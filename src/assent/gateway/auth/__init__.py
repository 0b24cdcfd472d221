"""Who calls the gateway: API keys, tokens, Host and Origin checks."""
