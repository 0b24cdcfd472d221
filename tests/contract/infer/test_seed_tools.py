"""Tools of the source systems are classified as their authors describe them."""

import pytest

from assent.contract.infer import classify

# Source 003: the five risk levels and their examples.
LEVELS = {
    "low": "list_projects get_current_user search_contacts get_help_article create_reminder",
    "medium": "create_note update_task_status generate_summary create_draft",
    "high": "change_project_status invite_calendar_attendee share_file_link update_customer_data",
    "critical": "emails.send_external bulk_export delete_user change_permissions execute_payment send_contract"
    " emails.bulk_send",
    "forbidden": "read_private_key read_password read_raw_access_token disable_audit_log"
    " export_full_database_without_approval",
}

# Source 001: what may be called freely, and what needs a person.
FREE = (
    "get_customer list_orders get_revenue_summary list_customers preview_invoice compare_plans ping get_account"
    " get_customer_financial_summary list_past_due_subscriptions"
)
CONFIRMED = (
    "delete_customer cancel_subscription refund_order refund_transaction refund_and_cancel"
    " cancel_subscription_and_report upgrade_account_api_version upgrade_webhook_version downgrade_webhook_version"
)


@pytest.mark.parametrize(
    ("name", "level"), [(name, level) for level, names in LEVELS.items() for name in names.split()]
)
def test_the_five_risk_levels_of_mcp_first(name: str, level: str) -> None:
    assert classify({"name": name}).risk == level


@pytest.mark.parametrize("name", FREE.split())
def test_epd_calls_its_reads_freely(name: str) -> None:
    inference = classify({"name": name})
    assert (inference.read_only, inference.destructive) == (True, False)


@pytest.mark.parametrize("name", CONFIRMED.split())
def test_epd_confirms_what_is_hard_to_reverse(name: str) -> None:
    inference = classify({"name": name})
    assert (inference.read_only, inference.destructive) == (False, True)


@pytest.mark.parametrize(
    ("name", "description", "read_only"),
    [
        ("ping", "Health probe.", True),
        ("validate_gtin", "Validates a GTIN. Pure validation.", True),
        ("resolve_gtin", "Resolves a GTIN against the rules.", True),
        ("lookup_product", "Look up structured product data by GTIN.", True),
        ("generate_qr_url", "Builds a Digital Link URL and records the call.", False),
    ],
)
@pytest.mark.parametrize("described", [True, False])
def test_the_five_tools_of_closient(name: str, description: str, read_only: bool, described: bool) -> None:
    inference = classify({"name": name, "description": description} if described else {"name": name})
    assert (inference.read_only, inference.destructive) == (read_only, False)


@pytest.mark.parametrize(
    ("name", "description", "read_only", "destructive"),
    [
        ("gmail_read_email", "Fetch a Gmail message by ID and return its headers and body.", True, False),
        ("gmail_send_email", "Compose and send an email via Gmail.", False, False),
        ("gmail_delete_email", "Permanently delete a Gmail message by ID.", False, True),
    ],
)
def test_the_three_tools_of_mcpgate(name: str, description: str, read_only: bool, destructive: bool) -> None:
    inference = classify({"name": name, "description": description})
    assert (inference.read_only, inference.destructive, inference.open_world) == (read_only, destructive, True)


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("catalog.items.search", "read"),
        ("orders.archive.estimate", "read"),
        ("orders.archive.place", "external_spend"),
        ("create_download_link", "share_export"),
    ],
)
def test_the_tiers_of_geopera_and_the_links_of_mcp_first(name: str, tier: str) -> None:
    assert classify({"name": name}).tier == tier
