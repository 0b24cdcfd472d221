"""What do a tool's parameters give away about its effect?"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assent.infer.lexicon import VERBS
from assent.infer.naming import read_name
from assent.infer.words import split_name

_CHOICE = frozenset({"action", "actions", "operation", "operations", "op", "method", "mode", "command", "subcommand", "verb", "task"})
_LISTED = re.compile(r"['\"`]([a-z][a-z_-]+)['\"`]|\b([a-z]+(?:[-_][a-z]+)+)\b|(?:[:,]|\bor|\band|/|\|)\s*([a-z]+)(?=\s*(?:,|\.|;|\||/|:|\(|$|\bor\b|\band\b))")
_VERBS_OF_HTTP = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_FLAGS: Mapping[str, frozenset[str]] = {
    "sql": frozenset({"sql", "sql_query", "statement", "sqls", "sql_statement", "query_statement", "cypher", "ddl"}),
    "code": frozenset({"code", "script", "javascript", "js", "expression", "function", "snippet", "python", "source_code", "program"}),
    "command": frozenset({"command", "cmd", "commands", "shell", "argv", "cli_args", "command_line"}),
    "url": frozenset({"url", "urls", "uri", "webpage", "website_url", "link", "page_url"}),
    "recipient": frozenset({"to", "recipient", "recipients", "cc", "bcc", "emails", "email_address", "phone_number", "to_email", "attendees", "invitees"}),
    "message": frozenset({"subject", "message", "body", "text", "html", "content"}),
    "amount": frozenset({"amount", "price", "qty", "quantity", "notional", "payment_method", "payment_method_id", "charge_amount", "total", "coupons", "budget", "amount_usd", "amount_cents"}),
    "confirm": frozenset({"confirm", "confirmed", "confirmation", "yes", "acknowledge", "i_understand"}),
    "force": frozenset({"force", "forced", "cascade", "purge", "hard_delete", "permanent", "permanently", "skip_trash", "delete_local_data"}),
    "rehearse": frozenset({"dry_run", "dryrun", "preview_only", "simulate", "validate_only", "what_if", "whatif"}),
    "overwrite": frozenset({"overwrite", "replace", "upsert", "replace_existing", "allow_overwrite", "clobber"}),
    "file": frozenset({"output_file", "output_path", "save_path", "local_path", "output_dir", "save_to", "destination_path", "csv_path", "save_dir",
                       "output_filename", "download_path", "output_directory", "save_location", "dest", "out_path", "downloads_dir", "save_as"}),
    "paging": frozenset({"limit", "page", "per_page", "cursor", "offset", "max_results", "page_size", "page_token", "top", "skip", "count", "sort",
                         "order_by", "sort_by", "filter", "filters", "search", "query", "q", "since", "until", "before", "after", "start_time", "end_time",
                         "start_date", "end_date", "fields", "select", "expand", "include", "next_token", "starting_after", "num_results", "first", "order"}),
    "payload": frozenset({"body", "data", "content", "payload", "value", "settings", "config", "title", "comment", "text", "message", "description",
                          "enabled", "items", "values", "updates", "changes", "properties", "new_name", "tags", "headers", "document", "documents"}),
    "task": frozenset({"task", "instruction", "instructions", "prompt", "goal", "objective", "steps"}),
    "password": frozenset({"password", "passphrase", "secret", "private_key", "client_secret"}),
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameter names in plain form, what they amount to, and the operations they choose between."""

    names: frozenset[str]
    flags: frozenset[str]
    choices: tuple[tuple[str, str], ...]

    @property
    def chosen_kinds(self) -> frozenset[str]:
        return frozenset(kind for _, kind in self.choices)


def read_parameters(schema: Any) -> Parameters:
    """Read an input schema, one level of nested objects included."""
    found = list(_properties(schema, 0))
    names = frozenset("_".join(split_name(name)) or name.lower() for name, _ in found)
    flags = {flag for flag, members in _FLAGS.items() if not names.isdisjoint(members)}
    choices: list[tuple[str, str]] = []
    for name, definition in found:
        if name.lower() in _CHOICE:
            if _is_http(definition):
                flags.add("http")
            else:
                choices += _choices(definition)
    if not names:
        flags.add("bare")
    return Parameters(names, frozenset(flags), tuple(choices))


def _properties(schema: Any, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return
    for name, definition in properties.items():
        if isinstance(name, str):
            plain = definition if isinstance(definition, Mapping) else {}
            yield name, plain
            if depth == 0 and "properties" in plain:
                yield from _properties(plain, depth + 1)


def _choices(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for value in _values(definition):
        reading = read_name(value)
        if reading.verb is not None and VERBS[reading.verb] != "noun":
            yield reading.verb, reading.kind


def _values(definition: Mapping[str, Any]) -> list[str]:
    values = _enumerated(definition)
    if values:
        return values
    text = definition.get("description")
    if not isinstance(text, str) or "filter" in text.lower():
        return []
    return [next(filter(None, groups)) for groups in _LISTED.findall(text[:500])]


def _enumerated(definition: Any) -> list[str]:
    if not isinstance(definition, Mapping):
        return []
    values = [v for v in definition.get("enum") or () if isinstance(v, str)]
    if isinstance(definition.get("const"), str):
        values.append(definition["const"])
    for key in ("anyOf", "oneOf", "allOf"):
        for part in definition.get(key) or ():
            values += _enumerated(part)
    return values + (_enumerated(definition["items"]) if "items" in definition else [])


def _is_http(definition: Mapping[str, Any]) -> bool:
    text = str(definition.get("description") or "")
    return any(v in _VERBS_OF_HTTP for v in _enumerated(definition)) or any(v in text for v in _VERBS_OF_HTTP)
