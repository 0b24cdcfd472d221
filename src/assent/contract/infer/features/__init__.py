"""What a definition says: name, text, parameters, phrases."""
