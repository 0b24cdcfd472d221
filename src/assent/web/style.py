"""The style sheet shared by all HTML pages."""

from importlib.resources import files

_STYLE = files("assent.web").joinpath("page.css").read_text("utf-8").rstrip()


def styled(page: str) -> str:
    """Replaces `{{ style }}` in a page with the shared style sheet; the page's own rules follow it."""
    return page.replace("{{ style }}", _STYLE)
