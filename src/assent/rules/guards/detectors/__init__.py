"""Finds personal data, payment data and secrets in texts, with checksums where there are any."""
