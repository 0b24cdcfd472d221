"""Do entries leave complete, filtered, in a shape others know, and from where it stopped?"""

import json

import pytest

from assent.audit.export import StaleCursor, export, json_line, timestamp
from assent.audit.leaf import BadEntry, seal
from assent.audit.leaf_reader import redact
from assent.audit.log_reader import Selection, read_row
from assent.audit.merkle import hash_leaf
from assent.audit.ocsf import ocsf_event, shape_for
from support.audit.logs import ORIGIN, START, Scene, make_scene


@pytest.fixture
async def scene():
    return await make_scene(50)


async def everything(entries, **options):
    lines, cursor, pages = [], None, 0
    while True:
        page, cursor = await export(entries, cursor, **options)
        if not page:
            return lines, cursor, pages
        lines, pages = lines + [json.loads(line) for line in page], pages + 1


async def test_every_entry_leaves_once_and_in_order_page_by_page(scene):
    lines, _, pages = await everything(scene.entries, limit=7)
    assert [line["index"] for line in lines] == list(range(50))
    assert pages == 8


async def test_a_line_has_facts_values_and_the_leaf_hash(scene):
    [line], _ = await export(scene.entries, limit=1)
    entry = json.loads(line)
    assert entry["time"] == "2025-11-24T16:00:00.000Z"
    assert entry["leaf_hash"] == hash_leaf(scene.entries.rows[0][0]).hex()
    assert entry["values"] == {"principal": "agent-0", "tenant": "acme"} | entry["values"]
    assert "erased" not in entry


async def test_a_cursor_goes_on_with_entries_that_came_later(scene):
    _, cursor, _ = await everything(scene.entries)
    assert (await export(scene.entries, cursor)) == ([], cursor)
    await scene.grow(3)
    page, _ = await export(scene.entries, cursor)
    assert [json.loads(line)["index"] for line in page] == [50, 51, 52]


async def test_a_cursor_of_another_or_an_altered_log_is_refused(scene):
    _, cursor = await export(scene.entries, limit=20)
    assert cursor.startswith("20.")
    scene.entries.rows[19] = scene.entries.rows[18]
    with pytest.raises(StaleCursor, match="entry 19 is not the one"):
        await export(scene.entries, cursor)
    del scene.entries.rows[10:]
    with pytest.raises(StaleCursor, match="entry 19"):
        await export(scene.entries, cursor)


@pytest.mark.parametrize("cursor", ["", "x", "5", "-1.-", "05.-", "0.0123456789abcdef", "3.-", "9" * 30 + ".-"])
async def test_what_is_not_a_cursor_is_refused(scene, cursor):
    with pytest.raises(StaleCursor):
        await export(scene.entries, cursor)


async def test_an_empty_log_exports_nothing():
    scene = await Scene().open()
    assert await export(scene.entries) == ([], "0.-")


@pytest.mark.parametrize(
    ("selection", "wanted"),
    [
        (Selection(tool="tool_3"), lambda line: line.get("tool") == "tool_3"),
        (Selection(tool="tool_*"), lambda line: "tool" in line),
        (Selection(kind="denial"), lambda line: line["kind"] == "denial"),
        (
            Selection(principal="agent-2"),
            lambda line: line["values"].get("principal") == "agent-2",
        ),
        (Selection(tier="read"), lambda line: False),
        (Selection(since=START + 200, until=START + 300), lambda line: 20 <= line["index"] < 30),
        (Selection(open_world=True), lambda line: line.get("open_world") is True),
        (Selection(outcome="*x*"), lambda line: False),
    ],
)
async def test_a_selection_takes_what_it_names(scene, selection, wanted):
    lines, _, _ = await everything(scene.entries)
    selected, _, _ = await everything(scene.entries, selection=selection, limit=3)
    assert selected == [line for line in lines if wanted(line)]


def of_calls(*callers):
    """What calls leave, all of them begun before the first one ends."""
    begun = [("intent", {"claim": f"c_{at}"}, {"principal": name, "kind": "human"}) for at, name in enumerate(callers)]
    ended = [("outcome", {"claim": f"c_{at}", "state": "succeeded"}, {}) for at, _ in enumerate(callers)]
    return [seal(kind, START, facts, values, bytes) for kind, facts, values in (*begun, *ended)]


async def test_the_outcome_of_a_call_is_found_by_who_began_it_wherever_an_export_goes_on():
    scene = await Scene().open()
    await scene.append(*of_calls("ann", "bob", "ann"))
    for limit in (1, 1000):
        lines, _, _ = await everything(scene.entries, selection=Selection(principal="ann"), limit=limit)
        assert [line["index"] for line in lines] == [0, 2, 3, 5]
    only = Selection(principal="bob", outcome="succeeded")
    assert [line["index"] for line in (await everything(scene.entries, selection=only))[0]] == [4]


async def test_the_outcome_of_a_call_names_its_caller_to_others():
    scene = await Scene().open()
    await scene.append(*of_calls("ann"))
    lines, _ = await export(scene.entries, shape=shape_for(ORIGIN))
    users = [json.loads(line)["actor"]["user"] for line in lines]
    assert users == [{"uid": "ann", "type_id": 1, "type": "User"}] * 2


async def test_what_somebody_else_did_about_a_call_is_not_laid_at_its_callers_door():
    scene = await Scene().open()
    settled = seal("settlement", START, {"claim": "c_0", "state": "failed"}, {"principal": "operator"}, bytes)
    await scene.append(*of_calls("ann")[:1], settled)
    lines, _, _ = await everything(scene.entries, selection=Selection(principal="ann"))
    assert [line["index"] for line in lines] == [0]
    await scene.entries.replace_values(1, redact(settled.values, ["principal"]))
    lines, _, _ = await everything(scene.entries, selection=Selection(principal="ann"))
    assert [line["index"] for line in lines] == [0]


async def test_an_entry_altered_behind_the_cursor_does_not_stop_an_export(scene):
    _, cursor = await export(scene.entries, limit=20)
    scene.entries.rows[4] = (b"{}", None)
    page, _ = await export(scene.entries, cursor)
    assert [json.loads(line)["index"] for line in page] == list(range(20, 50))


async def test_what_was_erased_is_named_and_not_shown(scene):
    index = next(at for at, (_, blob) in enumerate(scene.entries.rows) if b"arguments" in (blob or b""))
    leaf, blob = scene.entries.rows[index]
    line = json_line(read_row(index, leaf, redact(blob, ["arguments"])))
    assert line["erased"] == ["arguments"]
    assert "scene" not in json.dumps(line)


async def test_an_entry_that_cannot_be_read_is_named(scene):
    scene.entries.rows[4] = (b"{}", None)
    with pytest.raises(BadEntry, match="entry 4 cannot be exported"):
        await export(scene.entries)


def test_times_are_written_to_the_millisecond():
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(253_402_300_799_999).startswith("9999-12-31T23:59:59.99")


def event(kind, facts, values=None):
    row = seal(kind, START, facts, values or {}, lambda size: bytes(size))
    return ocsf_event(read_row(7, row.leaf, row.values), ORIGIN)


REQUIRED = {"activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid"}


def test_a_call_is_api_activity():
    facts = {
        "claim": "c_1",
        "tool": "delete_file",
        "upstream": "files",
        "tier": "destructive",
        "risk": "critical",
    }
    facts |= {"state": "succeeded", "mode": "live"}
    made = event("outcome", facts, {"principal": "agent-7", "kind": "agent"})
    assert REQUIRED | {"actor", "api", "src_endpoint"} <= made.keys()
    assert (made["class_uid"], made["category_uid"], made["activity_id"], made["type_uid"]) == (
        6003,
        6,
        4,
        600304,
    )
    assert made["actor"] == {"user": {"uid": "agent-7", "type_id": 4, "type": "Service"}}
    assert made["api"] == {"operation": "delete_file", "service": {"name": "files"}}
    assert (made["status_id"], made["severity_id"], made["time"]) == (1, 4, START)
    assert made["metadata"]["sequence"] == 7
    assert made["metadata"]["correlation_uid"] == "c_1"
    assert made["metadata"]["version"] == "1.6.0"
    assert made["unmapped"]["mode"] == "live"


def test_a_denial_is_a_failure_with_its_code():
    made = event("denial", {"tool": "t", "tier": "external_spend", "code": "claim.budget_exceeded"})
    assert (made["status_id"], made["status_code"], made["activity_id"]) == (2, "claim.budget_exceeded", 99)
    assert made["activity_name"] == "external_spend"
    assert made["api"]["response"] == {"error": "claim.budget_exceeded"}
    assert made["actor"]["user"]["uid"] == "unknown"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("succeeded", 1), ("failed", 2), ("failed_no_effect", 2), ("in_doubt", 99)],
)
def test_outcomes_have_their_status(outcome, status):
    made = event("outcome", {"tool": "t", "tier": "read", "state": outcome})
    assert (made["status_id"], made["activity_id"]) == (status, 2)


def test_an_intent_has_no_status_yet_and_a_decision_is_its_own_activity():
    assert event("intent", {"tool": "t", "tier": "write"})["status_id"] == 0
    assert event("decision", {"tool": "t", "tier": "write"})["activity_name"] == "decision"


def test_an_erased_principal_is_called_erased():
    row = seal("intent", START, {"tool": "t"}, {"principal": {"id": "x"}}, lambda size: bytes(size))
    made = ocsf_event(read_row(0, row.leaf, None), ORIGIN)
    assert made["actor"]["user"]["uid"] == "erased"
    assert made["unmapped"]["erased"] == ["principal"]


def test_failed_authentication_is_one_event_with_a_count():
    facts = {"count": 512, "since": START - 60_000, "until": START, "code": "authenticate.unknown_key"}
    made = event("authentication", facts)
    assert REQUIRED | {"user", "service"} <= made.keys()
    assert (made["class_uid"], made["type_uid"], made["count"]) == (3002, 300201, 512)
    assert (made["start_time"], made["end_time"]) == (START - 60_000, START)


@pytest.mark.parametrize(
    ("kind", "facts", "activity", "uid"),
    [
        ("operator", {"action": "reload"}, 3, "reload"),
        ("definition", {"tool": "t", "before": "a", "after": "b"}, 3, "b"),
        ("configuration", {"configuration": "abc"}, 3, "abc"),
        ("key", {"key": "k"}, 1, "k"),
        ("redaction", {"entry": 3, "fields": ["a"]}, 4, "3"),
    ],
)
def test_changes_are_entity_management(kind, facts, activity, uid):
    made = event(kind, facts)
    assert REQUIRED | {"entity"} <= made.keys()
    assert (made["class_uid"], made["activity_id"], made["entity"]["uid"]) == (3004, activity, uid)


async def test_a_whole_log_exports_as_ocsf(scene):
    lines, _, _ = await everything(scene.entries, shape=shape_for(ORIGIN))
    assert len(lines) == 50
    assert {line["metadata"]["log_name"] for line in lines} == {ORIGIN}
