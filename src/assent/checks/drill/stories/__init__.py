"""The stories by what attacks; the name of a constant is the name of its story."""
