"""Flow control: where the values of a call come from, and what that means for the call."""
