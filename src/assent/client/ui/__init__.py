"""How the client asks a person: terminal or web page."""
