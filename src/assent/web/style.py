"""What do the pages on which people decide have in common?"""

from importlib.resources import files

_STYLE = files("assent.web").joinpath("page.css").read_text("utf-8").rstrip()


def styled(page: str) -> str:
    """A page with the rules that all of them share where it says `{{ style }}`; its own follow."""
    return page.replace("{{ style }}", _STYLE)
