"""Where do calls leave to? One module per kind of upstream, and what they share."""
