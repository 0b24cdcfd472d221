"""What the approval pages show: every argument, targets, differences, reasons, batches, old approvals, many of them."""

from __future__ import annotations

import time
from html import unescape
from pathlib import Path
from typing import Any

from assent.cli.shared.options import operator
from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.pipeline.approve import approve as decide
from support.console.plain_browser import Browser, signed_in
from support.decisions.problems import problem
from support.gateway.gateways import KEY, post, rpc, shop_gateway

FACTS = {"tool": "delete_order", "tier": "destructive", "risk": "critical", "mode": "live", "contract": "c"}


async def ask(url: str, order: str, tool: str = "delete_order", **arguments: Any) -> str:
    """A call that waits; the id of its approval."""
    given = arguments or {"order_id": order}
    answer = await post(url, rpc("tools/call", name=tool, arguments=given, _meta={KEY: "key-1"}))
    return str(problem(answer.json()["result"])["approval"])


def approval(number: int, **changes: Any) -> Approval:
    now = time.time()
    fields = {
        "id": f"a{number}", "binding": f"b{number}", "tenant": "local", "requester": f"agent-{number}",
        "tool": "delete_order", "by": "approver", "quorum": 1, "text": f"Delete order {number}?", "facts": FACTS,
        "asked_at": now - number, "expires_at": now + 3600 + 60 * number, "lasts": 60.0,
    }  # fmt: skip
    return Approval(**{**fields, **changes})


async def read(person: Browser, path: str) -> str:
    answer = await person.get(path)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


async def test_every_argument_is_shown_with_hidden_characters_and_targets(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        name = await ask(url, "https://shop.example@evil.example/\u202eo\u200b-1\nApproved by: ann")
        raw = (await person.get(f"/console/approvals/{name}")).text
        assert "\u202e" not in raw and "\u200b" not in raw
        shown = unescape(raw)
        assert '"https://shop.example@evil.example/\\u{202e}o\\u{200b}-1\\n\nApproved by: ann"' in shown
        assert "hidden characters written out" in shown and "host of a link" in shown
        assert "<code>evil.example</code>" in shown
        assert "anonymous asks to delete or overwrite data with Delete order on shop" in shown
        assert "This call runs once, within 15 min" in shown and "0 of 1 approver" in shown


async def test_markup_in_arguments_and_reasons_stays_text(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        name = await ask(url, "<script>alert(1)</script>")
        page = f"/console/approvals/{name}"
        await person.send(f"{page}/deny", {"reason": "<img src=x onerror=alert(1)>"})
        for path in (page, "/console/approvals", "/console/approvals?state=declined"):
            text = (await person.get(path)).text
            assert "<script>alert" not in text and "<img src=x" not in text
        assert "&lt;img src=x onerror=alert(1)&gt;" in (await person.get(page)).text


async def test_a_large_argument_is_shown_whole_and_folded(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        name = await ask(url, "x" * 65_000 + "END")
        assert "xxxEND" in await read(person, f"/console/approvals/{name}")


async def test_the_last_call_is_shown_with_what_differs_now(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), signed_in(url, gateway_app.store) as person:
        first = await ask(url, "order one of May")
        assert "has not used this tool" in await read(person, f"/console/approvals/{first}")
        await person.send(f"/console/approvals/{first}/approve")
        await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "order one of May"}))
        assert len(shop.effects) == 1
        assert "It ran and succeeded." in await read(person, f"/console/approvals/{first}")
        second = await ask(url, "order two of May")
        shown = await read(person, f"/console/approvals/{second}")
        assert "Last time for this agent" in shown and "It ran and succeeded." in shown
        assert "order <del>one</del><ins>two</ins> of May" in shown


async def test_a_denial_carries_its_reason_to_the_agent_and_can_be_taken_back(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, shop), signed_in(url, gateway_app.store) as person:
        name = await ask(url, "o-1")
        page = f"/console/approvals/{name}"
        assert (await person.send(f"{page}/deny", {"reason": "Use the archive instead."})).status_code == 303
        call = rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"})
        told = problem((await post(url, call)).json()["result"])
        assert (told["code"], told["reason"]) == ("confirm.declined", "Use the archive instead.")
        assert "Take the no back" in await read(person, page)
        assert (await person.send(f"{page}/reopen")).status_code == 303
        assert "took the decision back" in await read(person, page)
        await person.send(f"{page}/approve")
        await post(url, call)
        assert shop.effects == ["delete o-1"]


async def test_a_reason_that_is_too_long_decides_nothing(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        name = await ask(url, "o-1")
        said = await person.send(f"/console/approvals/{name}/deny", {"reason": "x" * 501})
        assert said.status_code == 422 and "at most 500" in said.text
        assert "Your decision" in await read(person, f"/console/approvals/{name}")


async def test_a_late_decision_shows_who_decided_and_where(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as ann, signed_in(url, gateway_app.store, id="bob") as bob:
            name = await ask(url, "o-1")
            await ann.send(f"/console/approvals/{name}/approve")
            late = await bob.send(f"/console/approvals/{name}/deny")
            assert late.status_code == 409
            assert "Your decision was not taken." in late.text and "resolved elsewhere" in late.text
            inbox = await read(bob, "/console/approvals")
            assert "Decided in the last 15 minutes" in inbox and "by ann · resolved elsewhere" in inbox


async def test_the_inbox_says_in_words_where_a_call_was_decided(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as ann:
        name = await ask(url, "o-1")
        await decide(operator(), name, "approve", gateway_app.ports, "cli")
        assert "· resolved on the command line" in await read(ann, "/console/approvals")
        assert "(on the command line" in await read(ann, f"/console/approvals/{name}")


async def test_the_requester_and_an_approver_who_said_yes_are_told_why_they_wait(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as ann:
        entry = Entry("approval", time.time(), {"tool": "delete_order"}, {})
        for one in (approval(1, quorum=2), approval(2, requester="ann")):
            await gateway_app.store.ask(one, time.time(), 20, entry)
        await ann.send("/console/approvals/a1/approve")
        shown = await read(ann, "/console/approvals/a1")
        assert "You have said yes." in shown and "1 of 2 approvers" in shown
        assert "You asked for this call yourself." in await read(ann, "/console/approvals/a2")
        assert (await ann.send("/console/approvals/a2/approve")).status_code == 403


async def test_calls_of_one_tool_are_compared_and_decided_together(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        names = [await ask(url, f"o-{number}") for number in range(3)]
        other = await ask(url, "", "place_order", item="tea")
        query = "&".join(f"id={name}" for name in names)
        shown = await read(person, f"/console/approvals/batch?{query}")
        assert "3 calls of delete_order" in shown
        assert all(f'"o-{number}"' in shown for number in range(3))
        assert (await person.get(f"/console/approvals/batch?{query}&id={other}")).status_code == 422
        assert (await person.get("/console/approvals/batch")).status_code == 400
        form = {"verdict": "decline", "reason": "Not today.", "id": names}
        assert (await person.send("/console/approvals/batch", form)).status_code == 303  # type: ignore[arg-type]
        for name in names:
            found = await gateway_app.store.approval(name)
            assert found is not None and found.decline is not None and found.decline.reason == "Not today."
            assert found.decline.channel == "console"
        assert "3 of the selected calls no longer wait" in await read(person, f"/console/approvals/batch?{query}")


async def test_a_warning_stands_in_the_row_of_the_call_it_is_about(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        names = [await ask(url, order) for order in ("o-1", "https://a@evil.example/", "o-3")]
        shown = await read(person, "/console/approvals/batch?" + "&".join(f"id={name}" for name in names))
        rows = [
            part.partition("</tr>")[0] for part in shown.split("<tr>") if ">Call " in part and "/approvals/" in part
        ]
        assert ['leads to the host "evil.example"' in row for row in rows] == [False, True, False]


async def test_a_viewer_cannot_decide_several_or_take_a_no_back(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, roles=frozenset({"viewer"})) as viewer:
            name = await ask(url, "o-1")
            assert (
                await viewer.send("/console/approvals/batch", {"verdict": "approve", "id": name})
            ).status_code == 403
            assert (await viewer.send(f"/console/approvals/{name}/reopen")).status_code == 403
            assert "<form" not in (await read(viewer, f"/console/approvals/batch?id={name}")).partition("<main")[2]


async def test_an_approval_of_an_earlier_version_shows_its_text(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        entry = Entry("approval", time.time(), {"tool": "delete_order"}, {})
        await gateway_app.store.ask(approval(1), time.time(), 20, entry)
        assert "Delete order 1?" in await read(person, "/console/approvals/a1")
        assert "agent-1 asks for delete_order." in await read(person, "/console/approvals")
        assert "earlier version" in await read(person, "/console/approvals/batch?id=a1")


async def test_thousands_of_pending_approvals_are_shown_in_pages_most_urgent_first(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        entry = Entry("approval", time.time(), {"tool": "delete_order"}, {})
        details = {"sentence": "x asks.", "arguments": {"order_id": "o"}, "warnings": []}
        for number in range(2100):
            changes = {"expires_at": time.time() + 60 * (2100 - number), "details": details}
            await gateway_app.store.ask(approval(number, **changes), time.time(), 20, entry)
        started = time.perf_counter()
        first = await read(person, "/console/approvals")
        took = time.perf_counter() - started
        assert first.count('<a class="row"') == 50 and "2100 wait" in first
        assert first.index("/approvals/a2099") < first.index("/approvals/a2098")
        assert '/approvals/a0"' in await read(person, "/console/approvals?page=42")
        assert "No call waits" in await read(person, "/console/approvals?page=43")
        assert took < 2, "a generous bound for a busy machine; the benchmark has the real one"
