import json
from dataclasses import replace
from typing import Any

from config.dashboard.live.admission import Audience
from config.dashboard.live.frames import compare, delta, snapshot
from config.dashboard.live.inbox import InboxRow, Level
from config.dashboard.live.page_state import AlertRow, Parts
from config.version import VERSION
from tests.config.dashboard.live.conftest import AT, EVERYTHING, process_row

ROW = process_row()
PARTS = Parts(
    processes={ROW.id: ROW},
    sensors={"lost": 1, "deaf": False},
    deliveries={"pending": 2, "dead": 0},
    alerts={7: AlertRow(7, "k", {"en": "A thing", "ru": "Дело"}, "open", AT)},
    engines={"database": "ok", "redis": "off"},
)
ADDED: dict[str, Any] = {"inbox": {}, "beyond": {}, "workflows": {}, "sessions": {}, "changes": {}, "runtime": {}}
NOTHING: dict[str, Any] = {"processes": [], "sensors": {}, "deliveries": {}, "alerts": [], "engines": {}, **ADDED}


def read(text: str | None) -> dict[str, Any]:
    assert text is not None
    return dict(json.loads(text))


class TestSnapshot:
    def test_holds_every_part(self) -> None:
        assert read(snapshot(PARTS, EVERYTHING, at=AT)) == {
            "type": "snapshot",
            "at": "2026-03-01T12:30:00.000Z",
            "processes": [
                {
                    "id": "00000000-0000-0000-0000-000000000001",
                    "database": "acme-erp",
                    "name": "ERP",
                    "status": "STARTED",
                    "started_at": "2026-03-01T12:30:00.000Z",
                    "ready_at": None,
                    "ended_at": None,
                    "messages": 1,
                    "files": 0,
                    "moved": 0,
                }
            ],
            "sensors": {"lost": 1, "deaf": False},
            "deliveries": {"pending": 2, "dead": 0},
            "alerts": [
                {"id": 7, "kind": "k", "title": "A thing", "status": "open", "last_at": "2026-03-01T12:30:00.000Z"}
            ],
            "engines": {"database": "ok", "redis": "off"},
            "version": VERSION,
            "parts": sorted(EVERYTHING.parts),
            **ADDED,
        }

    def test_leaves_what_may_not_be_seen_empty_of_its_type(self) -> None:
        frame = read(snapshot(PARTS, Audience(frozenset(), "en"), at=AT))
        assert frame | NOTHING == frame

    def test_speaks_the_language_of_the_audience(self) -> None:
        frame = read(snapshot(PARTS, replace(EVERYTHING, language="ru"), at=AT))
        assert frame["alerts"][0]["title"] == "Дело"


class TestInbox:
    def test_is_told_part_by_part_to_those_who_may_see_it(self) -> None:
        parts = replace(PARTS, inbox={"alerts": (inbox_row("alert-7"),), "tasks": (inbox_row("task-1"),)})
        frame = read(snapshot(parts, Audience(frozenset({"tasks"}), "ru"), at=AT))
        assert [(row["key"], row["title"]) for row in frame["inbox"]["tasks"]] == [("task-1", "Дело")]
        assert set(frame["inbox"]) == {"tasks"}

    def test_that_has_become_empty_is_told_as_empty(self) -> None:
        old, new = replace(PARTS, inbox={"alerts": (inbox_row("alert-7"),)}), replace(PARTS, inbox={"alerts": ()})
        assert read(delta(compare(old, new), EVERYTHING, at=AT))["inbox"] == {"alerts": []}

    def test_of_followers_needs_their_permission(self) -> None:
        parts = replace(PARTS, runtime={"processes": [], "followers": [{"key": "history"}]})
        assert read(snapshot(parts, Audience(frozenset(), "en"), at=AT))["runtime"] == {"processes": []}
        assert "followers" in read(snapshot(parts, EVERYTHING, at=AT))["runtime"]


def inbox_row(key: str) -> InboxRow:
    return InboxRow(key, "alert", Level.WARNING, {"en": "A thing", "ru": "Дело"}, "/admin/", AT)


class TestDelta:
    def test_holds_what_changed_alone(self) -> None:
        other = process_row(number=2)
        new = replace(PARTS, processes={**PARTS.processes, other.id: other}, engines={"database": "ok", "redis": "ok"})
        frame = read(delta(compare(PARTS, new), EVERYTHING, at=AT))
        assert [process["id"] for process in frame["processes"]] == [str(other.id)]
        expected = {**NOTHING, "type": "delta", "at": "2026-03-01T12:30:00.000Z", "engines": {"redis": "ok"}}
        assert {**frame, "processes": []} == expected

    def test_is_nothing_when_nothing_changed(self) -> None:
        assert delta(compare(PARTS, PARTS), EVERYTHING, at=AT) is None

    def test_is_nothing_to_those_who_may_not_see_what_changed(self) -> None:
        new = replace(PARTS, deliveries={"pending": 3, "dead": 0})
        changes = compare(PARTS, new)
        assert delta(changes, Audience(frozenset({"processes", "engines"}), "en"), at=AT) is None
        assert read(delta(changes, EVERYTHING, at=AT))["deliveries"] == {"pending": 3}
