"""Tells people that an approval waits. A notification carries a link and never decides anything (ADR 0071)."""
