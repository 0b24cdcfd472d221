"""What does a text say outright: reads only, cannot be undone, overwrites, saves a file, runs anything?"""

import re
from collections.abc import Mapping
from typing import Final

_BODY: Final = 2500

# Each statement has cheap marks, one of which must occur before its pattern is tried.
_STATEMENTS: Final[Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]]] = {
    "reads_only": (
        ("read-only", "readonly", "read only", " not ", "without ", "side effect", "side-effect", "never ", "only reads"),
        re.compile(
            r"(?<!non-)(?<!not )\bread[- ]?only\b(?! (?:mode|replica|prop|field|attrib|point|scope|user|access|role|key|token))"
            r"|\b(?:does|do|will) not (?:modify|change|write|mutate|alter|affect|execute|perform|apply|save|drive|make any)\b"
            r"|\bwithout (?:modifying|changing|altering|applying|executing|making|saving|side[- ]effects)\b"
            r"|\bno (?:side[- ]effects|changes are|data is changed|modifications)\b|\bnever (?:modifies|writes|changes)\b"
            r"|\bonly reads\b"
        ),
    ),
    "lasting": (
        ("permanent", "irrevers", "undo", "revers", "recover", "destructive", "data loss", "lose", "lost", "restor"),
        re.compile(
            r"\bpermanently\b|\birreversibl|\bcan(?:not|'t| not) be (?:undone|reversed|recovered|restored)\b|\bno undo\b"
            r"|\bnot (?:reversible|recoverable)\b|(?<!non-)(?<!not )\bdestructive(?: (?:operation|action)|[.:!])|\bdata loss\b"
            r"|\b(?:lose|loses|losing) (?:all|any|data|access)\b|\bunrecoverable\b"
        ),
    ),
    "overwrites": (
        ("overwrit", "replac", "clears"),
        re.compile(
            r"(?<!not )(?<!never )\boverwrit(?:e|es|ing|ten)\b"
            r"|\breplac(?:e|es|ing) (?:all|the (?:entire|whole|existing|current|complete|full)|any existing|existing|every)\b"
            r"|\bexisting [\w ]{0,30}(?:are|is|will be) (?:replaced|removed|cleared|deleted|overwritten)|\bclears (?:the )?existing\b"
        ),
    ),
    "discards": (
        ("overwrit", "replac", "clear", "existing", "delete"),
        re.compile(
            r"(?<!not )(?<!never )\boverwrit(?:e|es|ing) (?:the |any |an |all )?(?:[\w']+ )?(?:existing|entire|whole|current|contents?)\b"
            r"|\bcompletely overwrites?\b|\boverwrites? (?:a |the )?files?\b|\bcontents are overwritten\b"
            r"|\breplac(?:e|es) (?:all|the (?:entire|whole|complete|full)|any existing|all existing)\b(?! (?:occurrences|matching|matches|instances))"
            r"|\b(?:clears|deletes|removes) (?:the |all |any )?existing\b"
            r"|\bexisting [\w ]{0,30}(?:are|is|will be) (?:replaced|removed|cleared|deleted|overwritten|lost)\b"
        ),
    ),
    "deletes": (
        ("delet", "remov", "terminat", "destroy", "drop", "uninstall", "cancel", "revok", "purg"),
        re.compile(
            r"\b(?:delet(?:e|es|ing|ion)|remov(?:e|es|ing|al)|terminat(?:e|es|ing)|destroys?|drops?|uninstalls?"
            r"|cancel(?:s|l?ing)?|revok(?:e|es|ing)|purges?)\b"
        ),
    ),
    "cautions": (
        ("caution", "care", "dangerous", "may modify"),
        re.compile(r"\buse with (?:extreme )?(?:caution|care)\b|\bdangerous\b|\bmay modify (?:system|files|data)"),
    ),
    "guides": (
        ("how to", "instruction", "guid", "best practice", "step-by-step", "documentation", "help information"),
        re.compile(r"\bhow to\b|\binstructions?\b|\bguid(?:es?|ance|elines?)\b|\bbest practices\b|\bstep-by-step\b|\bdocumentation\b|\bhelp information\b"),
    ),
    "returns": (("return", "retriev"), re.compile(r"\breturns?\b|\bretriev")),
    "saves": (
        ("file", "disk", "director", "folder", "locally", "local path", "save"),
        re.compile(
            r"\b(?:saved?|saves|saving|writ(?:es?|ten|ing)|stor(?:es?|ed|ing)|download(?:s|ed)?|exports?)\b[^.]{0,60}\b(?:to|into|in) (?:a |the |an |your |this )?(?:\w+ )?(?:file|files|disk|path|directory|folder|workspace)\b"
            r"|\bas (?:a |an )(?:\w+ )?file\b|\bsave[sd]? (?:locally|to|it|the|them|relative)\b|\bstores? [\w ]{0,20}locally\b|\bgenerates? [\w ]{0,30}files?\b"
        ),
    ),
    "runs_anything": (
        ("any ", "arbitrary", "raw "),
        re.compile(
            r"\b(?:any|arbitrary|raw)\b[\w ]{0,24}\b(?:command|code|sql|quer(?:y|ies)|script|javascript|python|api|tool|endpoint|service|statement|http)"
        ),
    ),
    "autonomous": (("autonom", "computer use", "automation agent"), re.compile(r"\bautonomous|\bcomputer[- ]use\b|\bautomation agent\b")),
    "many_tools": (("tool",), re.compile(r"\b(?:multiple|several|any|another|other|specific) (?:mcp )?tools?\b(?! instead| for| when)")),
    "writes_http": (("post request", "put request", "patch request", "delete request", "http request"), re.compile(
        r"\bhttp (?:post|put|patch|delete) request|\b(?:post|put|patch|delete) request\b|\ball http methods\b|\bauthenticated http request\b")),
    "hides_values": (
        ("metadata", "names", "never", "masked", "redacted", "without", "not return", "locations", "where "),
        re.compile(r"\b(?:metadata|names?)(?: and \w+)? only\b|\bnever (?:the |returns? )?(?:values?|secret)|\bmasked\b|\bredacted\b|\bwithout (?:the |their )?values?\b|\bnot (?:return|include|reveal)"),
    ),
}


def find_statements(text: str) -> frozenset[str]:
    """The statements a text makes, looked for in its first part only."""
    body = text[:_BODY].lower()
    return frozenset(
        name
        for name, (marks, pattern) in _STATEMENTS.items()
        if any(mark in body for mark in marks) and pattern.search(body)
    )
