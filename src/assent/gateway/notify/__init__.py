"""Tells people that an approval waits. A notification carries a link and never decides anything."""

from assent.gateway.notify.notifier import Notifier

__all__ = ["Notifier"]
