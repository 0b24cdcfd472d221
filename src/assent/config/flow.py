"""Flow control as configured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assent.features import load_feature

if TYPE_CHECKING:
    from assent.config.model import Settings


def flow_control(settings: Settings, previous: Any = None) -> Any:
    """Flow control, or None if it is off. What the previous one remembers is kept."""
    chosen = settings.flow
    if chosen.mode == "off":
        return None
    return load_feature("flow").FlowControl(
        chosen.mode, chosen.by, chosen.window, emits_labels=chosen.emit_labels, previous=previous
    )
