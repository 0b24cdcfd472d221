"""Rules that conclude effects from features, as tables with one reason per rule."""
