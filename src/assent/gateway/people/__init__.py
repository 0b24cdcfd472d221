"""People who use the console: their accounts, sessions and passkeys, as documents of the store."""
