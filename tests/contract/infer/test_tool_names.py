"""Which word of a name is the verb."""

import pytest

from assent.contract.infer.features.name import read_name
from assent.contract.infer.features.words import split_name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("list_open_orders", ("list", "open", "orders")),
        ("listOpenOrders", ("list", "open", "orders")),
        ("ListHTTPRoutesV2", ("list", "http", "routes")),
        ("list-open-orders", ("list", "open", "orders")),
        ("orders.archive.place", ("orders", "archive", "place")),
        ("v1_orders_list", ("orders", "list")),
        ("取得", ()),
    ],
)
def test_a_name_is_split_into_words_in_any_case_style(name: str, words: tuple[str, ...]) -> None:
    assert split_name(name) == words


@pytest.mark.parametrize(
    ("name", "verb", "kind"),
    [
        ("get_invoice", "get", "read"),
        ("acme_get_invoice", "get", "read"),
        ("warehouse_shelf_delete", "delete", "destroy"),
        ("shopping_list_delete", "delete", "destroy"),
        ("list_delete", "delete", "destroy"),
        ("compute_disk_delete", "delete", "destroy"),
        ("list_update_requests", "list", "read"),
        ("list_items_to_delete", "list", "read"),
        ("get_release_status", "get", "read"),
        ("orders.place", "place", "spend"),
        ("AcmeApiV2--CreateTicket", "create", "add"),
        ("hosting_restartWebsiteV1", "restart", "change"),
        ("container_logs", "logs", "noun"),
        ("uncomplete_task", "uncomplete", "change"),
        ("recalculate_totals", "recalculate", "change"),
    ],
)
def test_the_verb_is_found_behind_prefixes_and_nouns(name: str, verb: str, kind: str) -> None:
    reading = read_name(name)
    assert (reading.verb, reading.kind) == (verb, kind)


def test_a_name_without_a_verb_has_none() -> None:
    assert read_name("colour_palette").verb is None
    assert read_name("").verb is None


def test_a_group_name_before_the_dot_is_not_the_verb() -> None:
    assert read_name("share.palette").verb is None


@pytest.mark.parametrize(
    ("name", "beside"),
    [("search_and_replace", "replace"), ("pause_resume_job", "resume"), ("refund_and_cancel", "cancel")],
)
def test_a_second_verb_is_found_beside_the_first(name: str, beside: str) -> None:
    reading = read_name(name)
    assert beside in {reading.verb, *reading.beside}


def test_the_description_decides_between_ambiguous_words() -> None:
    assert read_name("berth_report_search", ("search",)).verb == "search"
    assert read_name("reactions_pin", ("pin",)).verb == "pin"


def test_a_verb_in_front_outranks_the_description() -> None:
    assert read_name("list_alert_rules", ("alert",)).verb == "list"


def test_the_object_of_get_is_not_the_verb() -> None:
    assert read_name("harbour_get_log_collectors", ("log",)).verb == "get"
