"""What people do in the console, from end to end in a real browser: every form is pressed, and the agent feels it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from assent.core.principal import Principal
from assent.people.console.start import sign_in_url
from cli.test_demo import curl, demo, printed
from people.console.test_claim_pages import start
from people.console.test_step_up import AUTH, CALL, age, state, waiting
from people.console.test_tool_pages import pinned_shop
from support.console.chromium import chromium_page, named, needs_chromium
from support.console.plain_browser import EVERY_ROLE, signed_in
from support.decisions.problems import problem
from support.gateway.gateways import gateway, post, rpc, shop_gateway
from support.identity.oidc_provider import needs_provider, oidc_provider, oidc_settings

pytestmark = needs_chromium
ANN = Principal("ann", "human", roles=EVERY_ROLE)
LIST = rpc("tools/call", name="list_orders", arguments={})


@asynccontextmanager
async def browser_of(url: str, store: Any = None, **context: Any) -> AsyncIterator[Any]:
    """A browser that has signed in by a link, where a store is given; it fails if a page breaks its own policy."""
    broken: list[str] = []
    async with chromium_page(base_url=named(url), **context) as page:
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("console", lambda said: broken.append(said.text) if "Content Security Policy" in said.text else None)
        if store is not None:
            await page.goto(await sign_in_url(store, named(url), ANN))
            if not context.get("java_script_enabled", True):
                await page.get_by_role("button", name="Sign in").click()
            await page.wait_for_url("**/console/approvals")
        yield page
    assert broken == []


async def log_in_at(page: Any, issuer: str, **form: str) -> None:
    await page.wait_for_url(f"{issuer}/interaction/**")
    for name, value in form.items():
        await page.locator(f"input[name={name}]").fill(value)
    await page.get_by_role("button", name="Log in").click()


async def code_of(url: str, body: dict[str, Any]) -> str:
    """The refusal that the agent gets; `ran` where it gets none."""
    result = (await post(url, body)).json()["result"]
    return str(problem(result)["code"]) if result.get("isError") else "ran"


async def test_a_person_signs_in_with_a_link(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), browser_of(url, app.store) as page:
        await page.get_by_text("No call waits for a decision").wait_for()
        await page.locator("details.person summary").click()
        await page.get_by_role("button", name="Sign out", exact=True).click()
        await page.wait_for_url("**/console/signin*")


@needs_provider
async def test_a_person_signs_in_through_an_identity_provider(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, gateway(tmp_path, {}, console=oidc_settings(issuer)) as (url, _):
        async with browser_of(url) as page:
            await page.goto("/console/activity")
            await page.get_by_role("button", name="Sign in with 127.0.0.1").click()
            await log_in_at(page, issuer, login="ann", groups="approvers")
            await page.wait_for_url("**/console/activity")
            await page.locator("details.person summary").click()
            assert f"{issuer}|ann" in await page.locator("details.person").inner_text()


async def test_an_approval_lets_the_agents_call_run(tmp_path: Path) -> None:
    async with waiting(tmp_path, {}) as (url, app, shop, _), browser_of(url, app.store) as page:
        await page.locator("a.row").click()
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("Approved. The agent's next identical call runs.").wait_for()
        assert await code_of(url, CALL) == "ran"
        assert shop.effects == ["delete o-1"]
        await page.get_by_text("It ran and succeeded.").wait_for()


async def test_an_approval_works_without_javascript(tmp_path: Path) -> None:
    async with waiting(tmp_path, {}) as (url, app, shop, _):
        async with browser_of(url, app.store, java_script_enabled=False) as page:
            await page.locator("a.row").click()
            await page.get_by_role("button", name="Approve").click()
            await page.get_by_text("Approved. The agent's next identical call runs.").wait_for()
        assert await code_of(url, CALL) == "ran"
        assert shop.effects == ["delete o-1"]


async def test_a_denial_gives_the_agent_the_reason_and_can_be_taken_back(tmp_path: Path) -> None:
    async with waiting(tmp_path, {}) as (url, app, shop, approval), browser_of(url, app.store) as page:
        await page.goto(f"/console/approvals/{approval}")
        await page.get_by_label("Reason").fill("Keep it until the audit in May.")
        await page.get_by_role("button", name="Deny").click()
        await page.get_by_text("Denied. The call does not run").wait_for()
        told = problem((await post(url, CALL)).json()["result"])
        assert (told["code"], told["reason"]) == ("confirm.declined", "Keep it until the audit in May.")
        await page.get_by_role("button", name="Take the no back").click()
        await page.get_by_text("The decision is taken back").wait_for()
        assert await state(app, approval) == "pending" and shop.effects == []


@needs_provider
async def test_an_approver_steps_up_at_the_identity_provider(tmp_path: Path) -> None:
    async with oidc_provider() as issuer:
        demand = {"step_up": {"risks": ["critical"], "max_age": 300, "acr": ["urn:example:mfa"]}}
        async with waiting(tmp_path, {**oidc_settings(issuer), **demand}) as (url, app, _, approval):
            async with browser_of(url) as page:
                await page.goto(f"/console/approvals/{approval}")
                await page.get_by_role("button", name="Sign in with 127.0.0.1").click()
                await log_in_at(page, issuer, login="ann", groups="approvers")
                await page.wait_for_url(f"**/console/approvals/{approval}")
                await page.get_by_role("button", name="Approve").click()
                await page.get_by_role("button", name="Authenticate again").click()
                await page.get_by_text("acr_values=urn:example:mfa max_age=300").wait_for()
                await log_in_at(page, issuer, login="ann", groups="approvers", acr="urn:example:mfa")
                await page.wait_for_url(f"**/console/approvals/{approval}")
                assert await state(app, approval) == "pending"
                await page.get_by_role("button", name="Approve").click()
                await page.get_by_text("Approved. The agent's next identical call runs.").wait_for()
                assert await state(app, approval) == "approved"


async def test_an_old_sign_in_steps_up_with_a_new_link(tmp_path: Path) -> None:
    console = {"step_up": {"risks": ["critical"], "max_age": 300}}
    async with waiting(tmp_path, console) as (url, app, _, approval), browser_of(url, app.store) as page:
        await age(app, 301)
        await page.goto(f"/console/approvals/{approval}")
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("an authentication within the last 300 seconds").wait_for()
        await page.goto(await sign_in_url(app.store, named(url), ANN))
        await page.wait_for_url("**/console/approvals")
        await page.goto(f"/console/approvals/{approval}")
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("Approved. The agent's next identical call runs.").wait_for()


async def test_two_approvers_at_once_are_told_who_decided(tmp_path: Path) -> None:
    async with waiting(tmp_path, {}) as (url, app, _, approval), browser_of(url, app.store) as page:
        await page.goto(f"/console/approvals/{approval}")
        async with signed_in(url, app.store, id="bob") as bob:
            await bob.send(f"/console/approvals/{approval}/deny", {"reason": "Not today."})
        await page.get_by_text("resolved elsewhere").wait_for()
        await page.get_by_text("Not today.").wait_for()
        assert await page.get_by_role("button", name="Approve").count() == 0


async def test_calls_of_one_tool_are_compared_and_denied_together(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth=AUTH) as (url, app, _):
        for order in ("o-1", "o-2"):
            await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": order}))
        async with browser_of(url, app.store) as page:
            for box in await page.locator(".inbox input[type=checkbox]").all():
                await box.check()
            await page.get_by_role("button", name="Compare selected").click()
            assert await page.locator("td code").all_inner_texts() == ['"o-1"', '"o-2"']
            await page.get_by_role("button", name="Deny 2").click()
            await page.get_by_text("2 calls denied.").wait_for()


async def test_what_is_selected_while_the_list_is_fetched_stays_selected(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, auth=AUTH) as (url, app, _):
        await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"}))
        async with browser_of(url, app.store) as page:
            boxes = page.locator(".inbox input[type=checkbox]")

            async def select_first(route: Any) -> None:
                if route.request.resource_type in ("fetch", "xhr"):
                    await boxes.first.check()
                await route.continue_()

            await page.route("**/console/approvals", select_first)
            await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "o-2"}))
            await boxes.nth(1).wait_for()
            await page.locator(".inbox input:checked").wait_for(timeout=10_000)


async def test_a_changed_definition_is_reviewed_accepted_and_served(tmp_path: Path) -> None:
    async with pinned_shop(tmp_path) as (url, app, _, lock), browser_of(url, app.store) as page:
        assert "Unknown tool" in (await post(url, LIST)).text
        await page.goto("/console/tools")
        await page.get_by_role("link", name="definitions to decide").click()
        change = page.locator("section.change", has_text="list_orders")
        assert await change.locator("del, ins").count() > 0
        await change.get_by_role("checkbox").check()
        await page.get_by_role("button", name="Review the chosen ones").click()
        await page.get_by_role("heading", name="Review 1 definition").wait_for()
        before = lock.read_text("utf-8")
        await page.get_by_role("button", name="Accept as shown").click()
        await page.get_by_text("Accepted: 1. The lock file is written.").wait_for()
        assert lock.read_text("utf-8") != before
        assert await code_of(url, LIST) == "ran"


async def test_a_claim_in_doubt_is_settled_with_evidence(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), browser_of(url, app.store) as page:
        await start(app, "doubtful")
        await page.goto("/console/claims")
        await page.locator("a.row").click()
        await page.get_by_label("It was done.").check()
        await page.get_by_role("button", name="Settle").click()
        assert page.url.endswith("/doubtful"), "the browser asks for the evidence first"
        await page.get_by_label("How do you know?").fill("Order 4711 is in the shop's list.")
        await page.get_by_role("button", name="Settle").click()
        await page.locator("h1 .badge", has_text="succeeded").wait_for()
        await page.get_by_role("link", name="The whole operation").click()
        await page.get_by_text("Settled after a look").wait_for()


async def test_the_stop_switch_stops_calls_and_is_released_in_two_steps(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, app, _), browser_of(url, app.store) as page:
        await page.goto("/console/stop")
        await page.get_by_label("What").select_option("everything")
        await page.get_by_label("Reason").fill("Something is wrong.")
        await page.get_by_role("button", name="Stop now").click()
        await page.get_by_text("stops all calls").wait_for()
        assert [await code_of(url, LIST), await code_of(url, CALL)] == ["authorize.stopped"] * 2
        await page.get_by_label("Reason for the release").fill("Reads are harmless.")
        await page.get_by_role("button", name="Step 1: let reads pass").click()
        await page.get_by_role("button", name="Step 2: release fully").wait_for()
        assert [await code_of(url, LIST), await code_of(url, CALL)] == ["ran", "authorize.stopped"]
        await page.get_by_label("Reason for the release").fill("It was a false alarm.")
        await page.get_by_role("button", name="Step 2: release fully").click()
        await page.get_by_text("Nothing is stopped.").wait_for()
        assert await code_of(url, CALL) == "confirm.approval_pending"


async def test_the_demo_ends_with_its_pending_call_in_the_inbox_of_a_signed_in_person(tmp_path: Path) -> None:
    async with demo(tmp_path) as (_, lines), chromium_page() as page:
        await page.goto(next(line.strip() for line in lines if "/console/signin?link=" in line))
        await page.wait_for_url("**/console/approvals")
        await page.locator("a.row", has_text="delete_files").click()
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("Approved. The agent's next identical call runs.").wait_for()
        assert (await curl(printed(lines, "curl", "delete_files")))["structuredContent"] == {"deleted": 3}
        await page.get_by_text("It ran and succeeded.").wait_for()
