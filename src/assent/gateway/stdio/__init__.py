"""The gateway on standard streams (`assent wrap`)."""
