"""Flow control as configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.flow.control import FlowControl


def flow_control(settings: Settings, current: FlowControl | None = None) -> FlowControl | None:
    """Flow control, or None if it is off. With changed settings the current one keeps what it remembers."""
    chosen = settings.flow
    if chosen.mode == "off":
        return None
    if current is None:
        from assent.flow.control import FlowControl

        return FlowControl(chosen.mode, chosen.by, chosen.window, emits_labels=chosen.emit_labels)
    current.mode, current.by, current.window = chosen.mode, chosen.by, chosen.window
    current.emits_labels = chosen.emit_labels
    return current
