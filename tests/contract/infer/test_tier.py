"""The inferred tier and risk."""

import pytest

from assent.contract.infer import classify


@pytest.mark.parametrize(
    ("name", "description", "tier"),
    [
        ("place_order", "Place an order.", "external_spend"),
        ("buy_berth", "Buy a berth.", "external_spend"),
        ("top_up_balance", "Top up the balance.", "external_spend"),
        ("create_payment", "Create a payment.", "external_spend"),
        ("transfer_money", "Transfers money.", "external_spend"),
        ("reserve_boat", "Reserves credits and books a boat.", "external_spend"),
        ("register_domain", "Registers a domain.", "external_spend"),
        ("upgrade_plan", "Upgrades the plan of a harbour.", "external_spend"),
        ("paint_hull", "Paints a hull. Costs 5 credits.", "external_spend"),
        ("create_share_link", "Create a share link.", "share_export"),
        ("create_api_key", "Create an API key.", "share_export"),
        ("publish_page", "Publish a page.", "share_export"),
        ("make_chart_public", "Makes a chart public.", "share_export"),
        ("broadcast_warning", "Broadcasts a warning to all followers.", "share_export"),
        ("execute_webhook", "Calls a webhook with sample data.", "share_export"),
        ("generate_picture", "Generate a picture.", "compute"),
        ("run_forecast_model", "Runs the model.", "compute"),
        ("send_letter", "Send a letter.", "write"),
        ("add_comment", "Add a comment.", "write"),
        ("place_marker", "Place a marker on the chart.", "write"),
    ],
)
def test_the_tier_follows_from_the_action(name: str, description: str, tier: str) -> None:
    assert classify({"name": name, "description": description}).tier == tier


@pytest.mark.parametrize(
    ("name", "description", "risk"),
    [
        ("get_boat", "Get a boat.", "low"),
        ("get_private_key", "Get the private key.", "forbidden"),
        ("get_connection_string", "Get the connection string of the database.", "forbidden"),
        ("get_password_policy", "Get the rules for passwords.", "low"),
        ("get_secrets", "Get secrets, names and metadata only.", "low"),
        ("list_api_keys", "List API keys.", "high"),
        ("count_tokens", "Count the tokens of a text.", "low"),
        ("delete_audit_logs", "Delete audit logs.", "forbidden"),
        ("grant_role", "Grant a role.", "critical"),
        ("update_permissions", "Update permissions.", "critical"),
        ("send_letter", "Send a letter.", "critical"),
        ("execute_shell", "Run a shell command.", "critical"),
        ("invite_guest", "Invite a guest.", "high"),
        ("update_customer", "Update a customer.", "high"),
        ("send_batch", "Sends many letters at once.", "critical"),
        ("approve_merge_request", "Approve a merge request.", "high"),
        ("install_plugin", "Install a plugin.", "high"),
        ("update_note", "Update a note.", "medium"),
        ("create_bookmark", "Create a bookmark.", "low"),
    ],
)
def test_the_risk_follows_from_what_the_tool_touches(name: str, description: str, risk: str) -> None:
    assert classify({"name": name, "description": description}).risk == risk


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "description"), [("compute", "Compute resources of a harbour."), ("list_cranes", "Lists cranes.")]
)
def test_a_router_is_never_a_read(name: str, description: str) -> None:
    routed = {"properties": {"intent": TEXT, "command": TEXT, "parameters": {"type": "object"}}}
    assert classify({"name": name, "description": description, "inputSchema": routed}).tier == "destructive"


@pytest.mark.parametrize(
    ("name", "description", "parameters", "tier"),
    [
        ("worker_put", "Put a worker script.", ("name", "script"), "destructive"),
        ("create_campaign", "Create an ad campaign.", ("name", "daily_budget"), "external_spend"),
        ("create_campaign", "Create a campaign.", ("name",), "write"),
    ],
)
def test_a_parameter_shows_what_is_run_or_spent(
    name: str, description: str, parameters: tuple[str, ...], tier: str
) -> None:
    schema = {"properties": dict.fromkeys(parameters, TEXT)}
    assert classify({"name": name, "description": description, "inputSchema": schema}).tier == tier


@pytest.mark.parametrize(
    ("name", "description", "params", "tier"),
    [
        ("send_email", "Send an email.", "to body", "share_export"),
        ("send_batch", "Send up to 100 emails in one request.", "emails", "share_export"),
        ("sms_send", "Sends a text.", "phone_number text", "share_export"),
        ("create_status_page_post", "Creates a post.", "title", "share_export"),
        ("create_text_send", "Create a Send to securely share a text.", "text", "share_export"),
        ("add_collaborator", "Adds a collaborator.", "user", "share_export"),
        ("create_gist", "Creates a gist.", "content", "share_export"),
        ("create_post", "Create a post on LinkedIn.", "text", "share_export"),
        ("send_to_queue", "Send a message to a queue.", "message", "write"),
        ("create_post", "Creates a post in the blog's drafts.", "text", "write"),
        ("submit_order", "Submit an order to buy or sell a stock.", "symbol qty side", "external_spend"),
        ("create_order", "Create an order.", "items payment_method", "external_spend"),
        ("create_transfer", "Create a transfer to a recipient.", "amount recipient", "external_spend"),
        ("open_position", "Open a position.", "symbol leverage", "external_spend"),
        ("add_funds", "Adds funds to the account.", "amount", "external_spend"),
        ("wallet_send", "Send sats over Lightning.", "invoice", "external_spend"),
        ("checkout", "Completes the checkout of the cart.", "cart_id", "external_spend"),
        ("create_subscription", "Create a subscription.", "customer price_id", "external_spend"),
        ("update_order", "Updates the address of an order.", "order_id address", "write"),
        ("create_subscription", "Subscribes to notifications of changes.", "topic", "write"),
    ],
)
def test_spends_and_shares_get_their_tier(name: str, description: str, params: str, tier: str) -> None:
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in params.split()}}
    assert classify({"name": name, "description": description, "inputSchema": schema}).tier == tier


@pytest.mark.parametrize(
    ("name", "params", "tier", "risk"),
    [
        ("compute", "intent command parameters", "destructive", "critical"),
        ("worker_put", "name script", "destructive", "critical"),
        ("approve_merge_request", "project_id merge_request_iid", "write", "high"),
        ("install_plugin", "plugin_id", "write", "high"),
        ("get_anything", "command parameters", "destructive", "critical"),
    ],
)
def test_routers_programs_approvals_and_installations_are_no_harmless_writes(
    name: str, params: str, tier: str, risk: str
) -> None:
    schema = {"type": "object", "properties": {one: {} for one in params.split()}}
    found = classify({"name": name, "description": "", "inputSchema": schema})
    assert (found.tier, found.risk) == (tier, risk)
