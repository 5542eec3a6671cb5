from datetime import timedelta
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils.translation import override

from notifications.models import Alert
from notifications.presentation import say_details
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowIncident, WorkflowInstance
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.admin.test_definitions import DRAWN
from tests.processes.workflows.process_files import chain, message, named, script, service, timer, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/workflows/workflowinstance/"
LIST_QUERIES, PAGE_QUERIES = 10, 14
ORDER = chain("order", user("check"), user("ship"))
FAILING = chain("sums", user("check"), script("divide", "share", "10 / parts"))


def address(head: Head, page: str = "change/") -> str:
    return f"{LIST}{head.id}/{page}"


def listed(browser: Client, **query: str) -> list[str]:
    return [row.record for row in browser.get(LIST, query).context["cl"].result_list]


def page_of(browser: Client, head: Head, **query: str) -> str:
    return unescape(browser.get(address(head), query).content.decode())


def with_incident(scene: Scene) -> tuple[Head, WorkflowIncident]:
    head = scene.complete(scene.begin(FAILING, parts=0))
    return head, WorkflowIncident.objects.get()


class TestList:
    def test_says_of_what_it_is_and_how_it_fares(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, record="A-7")
        page = operator.get(LIST).content.decode()
        assert f'>order · A-7<div class="pst-quiet">{head.id}</div>' in page
        assert "active" in page

    def test_newest_first_narrowed_by_status_and_definition(self, scene: Scene, operator: Client) -> None:
        scene.command(scene.begin(ORDER, record="A"), "suspend")
        scene.start("order", record="B")
        scene.begin(chain("other", user("check")), record="C")
        assert listed(operator) == ["C", "B", "A"]
        assert listed(operator, status="suspended") == ["A"]
        assert listed(operator, definition="order") == ["B", "A"]
        assert listed(operator, status="nonsense") == ["C", "B", "A"]

    def test_narrowed_by_revision_element_incident_variable_and_age(self, scene: Scene, operator: Client) -> None:
        scene.begin(ORDER, record="A", city="Bern")
        scene.complete(scene.start("order", record="B"))
        scene.begin(chain("order", user("check")), record="C")
        with_incident(scene)
        assert listed(operator, definition="order", revision="1") == ["B", "A"]
        assert listed(operator, definition="order", revision="9" * 9) == []
        assert listed(operator, definition="order", element="ship") == ["B"]
        assert listed(operator, element="ship") == ["B"]
        assert listed(operator, variable="city=Bern") == ["A"]
        assert listed(operator, variable="no equals sign") == []
        assert len(listed(operator, incident="divi")) == 1
        assert len(listed(operator, age="-hour")) == 4
        assert listed(operator, age="day") == []
        assert len(listed(operator, age="nonsense", definition="", revision="x")) == 4
        for name in ("incident", "element", "variable"):
            assert listed(operator, **{name: "a\x00=b"}) == []
        page = operator.get(LIST, {"definition": "order", "revision": "1"}).content.decode()
        assert '<option value="ship"' in page
        assert '<option value="begin"' not in page

    def test_found_by_record_and_by_every_id(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, record="A")
        scene.start("order", record="AB")
        assert listed(operator, q="A") == ["A"]
        assert listed(operator, q=str(head.id)) == ["A"]
        assert listed(operator, q=f"workflow/{head.id}") == ["A"]
        assert listed(operator, q=scene.task(head)) == ["A"]
        assert listed(operator, q="none") == []

    def test_costs_the_same_for_many_and_counts_no_further_than_its_bound(
        self, scene: Scene, operator: Client, django_assert_num_queries: Any
    ) -> None:
        scene.begin(ORDER)
        operator.get(LIST)
        for wanted in (1, 9):
            for _ in range(wanted - 1):
                scene.start("order")
            with django_assert_num_queries(LIST_QUERIES) as queries:
                assert len(listed(operator)) == wanted
            counts = [query["sql"] for query in queries if "COUNT(*)" in query["sql"] and "workflows_" in query["sql"]]
            assert all("LIMIT 10001" in sql or "LIMIT 100)" in sql for sql in counts)


class TestPage:
    def test_shows_where_it_stands_and_what_it_waits_for(self, scene: Scene, operator: Client) -> None:
        source = chain("order", user("check"), timer("wait", "PT2H"), message("paid"), before=named("custom.paid"))
        head = scene.begin(source, record="A-7", amount=5)
        page = page_of(operator, head)
        assert "Check" in page
        assert "Complete →" in page
        assert '<strong class="pst-tokens" title="Tokens">1</strong>' in page
        head = scene.complete(head)
        assert (head.at + timedelta(hours=2)).strftime(":%M:%S") in page_of(operator, head)
        scene.pass_time(head, minutes=1)
        assert "custom.paid" in page_of(operator, head)

    def test_the_event_it_waits_for_is_in_words_with_its_type_as_a_hint(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("order", message("lost"), before=named("sensor.connection_lost")))
        assert '<span title="sensor.connection_lost">Connection lost</span>' in page_of(operator, head)

    def test_the_last_hour_of_all_has_a_page_elsewhere_too(self, scene: Scene, operator: Client, settings: Any) -> None:
        settings.TIME_ZONE = "Europe/Moscow"
        date = "<timeDate>9999-12-31T23:30:00Z</timeDate>"
        wait = f'<intermediateCatchEvent id="wait"><timerEventDefinition>{date}</timerEventDefinition>'
        head = scene.begin(chain("late", ("wait", f"{wait}</intermediateCatchEvent>")))
        assert "9999-12-31T23:30" in page_of(operator, head)

    def test_the_diagram_has_tokens_and_incidents(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(DRAWN.read_bytes(), record="A-7")
        drawing = f"{LIST}{head.id}/versions/{head.number}/diagram.svg"
        assert f'<img src="{drawing}?of=0"' in page_of(operator, head)
        before = operator.get(drawing).content.decode()
        assert 'data-marks="Activity_check"' in before
        assert "Incident" not in before
        instance = WorkflowInstance.objects.get()
        common = {"command": {"command": "start"}, "opened_at": head.at, "reason": "x"}
        WorkflowIncident.objects.create(instance=instance, about="x", element="Activity_check", **common)
        assert "Incident" in operator.get(drawing).content.decode()
        assert operator.get(f"{drawing}?of=1").status_code == 404
        assert operator.get(f"{LIST}{head.id}/versions/99/diagram.svg").status_code == 404

    def test_of_a_called_definition_too_with_its_own_tokens(self, scene: Scene, operator: Client) -> None:
        scene.publish(chain("inner", user("check")))
        call = ("check", '<callActivity id="check" calledElement="inner"/>')
        head = scene.begin(chain("outer", call, user("last")))
        outer, inner = operator.get(address(head)).context["page"].drawings
        assert (outer.title, inner.title) == ("outer", "inner")
        assert {listed.element: listed.tokens for listed in outer.elements}["check"] == 1
        assert {listed.element: listed.tokens for listed in inner.elements}["check"] == 1

    def test_hostile_variables_are_text_and_long_ones_are_cut(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, evil="</pre><script>x", long="y" * 20_000, turned="\u202e")
        page = operator.get(address(head)).content.decode()
        assert "<script>x" not in page
        assert "Shortened: the full value" in page
        assert "y" * 9_000 not in page
        assert "\u202e" not in page

    def test_a_viewer_sees_it_and_is_offered_nothing(self, scene: Scene, viewer: Client) -> None:
        head, incident = with_incident(scene)
        page = page_of(viewer, head)
        assert incident.reason in page
        for word in ("suspend/", "terminate/", "Try again", "Return to this version", "Complete →"):
            assert word not in page
        acts = ("suspend/", "resume/", "terminate/", "variables/", f"incidents/{incident.pk}/", "versions/1/return/")
        assert {viewer.post(address(head, page), {"version": "1"}).status_code for page in acts} == {403}

    def test_one_whose_start_failed_has_a_page(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("sums", script("divide", "share", "10 / parts"), user("check")), parts=0)
        page = page_of(operator, head)
        assert "Try again" in page
        assert "created; the start failed" in page
        assert operator.get(address(head, "versions/1/")).status_code == 200

    def test_costs_the_same_however_long_it_has_run(
        self, scene: Scene, operator: Client, django_assert_max_num_queries: Any
    ) -> None:
        head = scene.begin(ORDER)
        operator.get(address(head))
        costs = set()
        for steps in (1, 30):
            for number in range(steps):
                scene.command(head, "set_variables", variables={"n": number, f"v{number}": number})
            with django_assert_max_num_queries(PAGE_QUERIES) as queries:
                operator.get(address(head))
            costs.add(len(queries))
        assert len(costs) == 1

    def test_there_is_none_of_what_is_unknown(self, operator: Client) -> None:
        nobody = uuid4()
        assert operator.get(f"{LIST}{nobody}/change/").status_code == 302
        for page in ("suspend/", "versions/1/", "compare/?from=1&to=1"):
            assert operator.get(f"{LIST}{nobody}/{page}").status_code == 404


class TestCommands:
    def test_suspends_resumes_and_terminates(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        for command, status in (("suspend", "suspended"), ("resume", "active"), ("terminate", "terminated")):
            assert f"{command}/" in page_of(operator, head)
            form = operator.get(address(head, f"{command}/")).context["form"]
            operator.post(address(head, f"{command}/"), {"version": form["version"].value()})
            assert WorkflowInstance.objects.get().status == status
        assert scene.chain(head)[-1][2] == "terminate"
        assert "terminate/" not in page_of(operator, head)

    def test_an_end_is_for_what_the_person_has_seen(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        scene.complete(head)
        page = operator.post(address(head, "terminate/"), {"version": "1"})
        assert "it is now at version 2" in page.content.decode()
        assert WorkflowInstance.objects.get().status == "active"
        assert page.context["form"]["version"].value() == "2"

    def test_what_does_not_fit_any_more_is_told_kindly(self, scene: Scene, operator: Client) -> None:
        head = scene.command(scene.begin(ORDER), "terminate")
        page = operator.post(address(head, "suspend/"), {"version": "1"})
        assert "Not possible now: The instance is terminated." in unescape(page.content.decode())

    def test_changes_variables_that_were_typed_differently(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, amount=1, same={"a": [1]})
        form = operator.get(address(head, "variables/")).context["form"]
        typed = form["variables"].value().replace('"amount": 1', '"amount": true')
        operator.post(address(head, "variables/"), {"version": "1", "variables": typed})
        assert scene.head(head).state["scopes"]["0.1"]["variables"] == {"amount": True, "same": {"a": [1]}}
        page = operator.post(address(head, "variables/"), {"version": "2", "variables": typed}, follow=True)
        assert "Nothing changed" in page.content.decode()
        assert scene.head(head).number == 2

    def test_nobody_writes_over_what_another_has_changed(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER, amount=1)
        scene.command(head, "set_variables", variables={"amount": 2})
        page = operator.post(address(head, "variables/"), {"version": "1", "variables": '{"amount": 3}'})
        assert "has changed since you opened this page" in page.content.decode()
        assert page.context["form"]["variables"].value() == '{"amount": 3}'
        assert [value.text for value in page.context["newest"].rows] == ["2"]
        operator.post(address(head, "variables/"), {"version": "2", "variables": '{"amount": 3}'})
        assert scene.head(head).state["scopes"]["0.1"]["variables"] == {"amount": 3}


class TestRetry:
    def test_tries_again_with_other_variables_and_keeps_the_note(self, scene: Scene, operator: Client) -> None:
        head, incident = with_incident(scene)
        where = address(head, f"incidents/{incident.pk}/")
        form = operator.get(where).context["form"]
        assert form["variables"].value() == '{\n  "parts": 0\n}'
        answers = {"version": form["version"].value(), "variables": '{"parts": 5}', "note": "five it is"}
        assert "the incident is resolved" in operator.post(where, answers, follow=True).content.decode()
        incident.refresh_from_db()
        assert (incident.status, incident.note, incident.actor) == ("resolved", "five it is", "staff:olga")
        assert WorkflowInstance.objects.get().status == "completed"

    def test_one_that_fails_again_stays(self, scene: Scene, operator: Client) -> None:
        head, incident = with_incident(scene)
        answers = {"version": "1", "variables": '{"parts": 0}'}
        page = operator.post(address(head, f"incidents/{incident.pk}/"), answers, follow=True)
        assert "It failed. The incident says why." in page.content.decode()
        incident.refresh_from_db()
        assert (incident.status, incident.times) == ("open", 2)

    def test_one_that_is_resolved_meanwhile_is_told(self, scene: Scene, operator: Client) -> None:
        head, incident = with_incident(scene)
        scene.command(head, "retry_incident", variables={"parts": 1})
        page = operator.get(address(head, f"incidents/{incident.pk}/"), follow=True)
        assert "This incident has already been resolved." in page.content.decode()

    def test_the_reason_is_said_in_the_language_of_the_reader(self, scene: Scene, operator: Client) -> None:
        head, incident = with_incident(scene)
        assert incident.reason == "10 / parts: division by zero"
        for page in ("change/", f"incidents/{incident.pk}/"):
            shown = operator.get(address(head, page), headers={"Accept-Language": "ru"}).content.decode()
            assert "10 / parts: деление на ноль" in shown
        (alert,) = Alert.objects.all()
        with override("ru"):
            assert alert.words.endswith(": 10 / parts: деление на ноль")
            assert "10 / parts: деление на ноль" in say_details(alert.detail).values()

    def test_of_an_effect_the_inputs_are_asked_for(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("told", service("call", "webhook", url='"nowhere"'), user("check")), amount=5)
        dispatch_due_effects()
        incident = WorkflowIncident.objects.get()
        form = operator.get(address(head, f"incidents/{incident.pk}/")).context["form"]
        assert form["variables"].value() == '{\n  "url": "nowhere"\n}'


class TestVersions:
    def test_the_tree_is_drawn_with_a_link_to_each_version(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        assert operator.get(address(head)).context["page"].tree.drawing == ""
        scene.complete(head)
        return_instance(head.id, version=1, reason="<b>wrong</b>", actor="staff:olga", at=head.at)
        drawing = operator.get(address(head)).context["page"].tree.drawing
        assert drawing.count('<a href="') == 3
        assert f'href="{address(head, "versions/3/")}"' in drawing
        assert "&lt;b&gt;wrong&lt;/b&gt;" in drawing
        assert "staff:olga" in drawing
        assert drawing.count("pst-node pst-left") == 1

    def test_the_tree_names_cause_actor_and_branches(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        return_instance(head.id, version=1, reason="wrong parcel", actor="staff:ines", at=head.at)
        versions = operator.get(address(head)).context["page"].tree.versions
        assert [(each.row.number, each.row.parent, each.is_current) for each in versions] == [
            (3, 1, True),
            (2, 1, False),
            (1, None, True),
        ]
        page = page_of(operator, head)
        assert "returned to version 1: wrong parcel" in page
        assert " · ines" in page
        assert "abandoned by a return" in page

    def test_is_paged_newest_first(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        for number in range(30):
            scene.command(head, "set_variables", variables={"n": number})
        tree = operator.get(address(head)).context["page"].tree
        assert ([tree.versions[0].row.number, tree.versions[-1].row.number], tree.older) == ([31, 7], 7)
        older = operator.get(address(head), {"before": "7"}).context["page"].tree
        assert ([each.row.number for each in older.versions], older.older) == ([6, 5, 4, 3, 2, 1], None)

    def test_one_version_shows_its_state_and_what_it_changed(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER, amount=1), amount=2)
        page = operator.get(address(head, "versions/2/"))
        words = page.content.decode()
        assert "<del>Check</del> <ins>Ship</ins>" in words
        assert "task completed: Check" in words
        [cell] = page.context["page"].difference.variables
        assert (cell.name, cell.before.text, cell.after.text) == ("amount", "1", "2")
        assert [value.text for value in operator.get(address(head, "versions/1/")).context["page"].values.rows] == ["1"]

    def test_two_are_compared(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER, gone=1), fresh={"<b>": 1})
        page = operator.get(address(head, "compare/"), {"from": "2", "to": "1"})
        cells = page.context["difference"].variables
        assert [(cell.name, cell.before is None, cell.after is None) for cell in cells] == [("fresh", False, True)]
        assert "<b>" not in page.content.decode()
        for query in ({}, {"from": "1"}, {"from": "x", "to": "1"}, {"from": "1", "to": "9"}):
            assert operator.get(address(head, "compare/"), query).status_code == 404


class TestReturn:
    def test_says_first_what_it_would_do(self, scene: Scene, operator: Client) -> None:
        source = chain("told", user("check"), service("tell", "event", type='"custom.told"'), timer("wait", "PT1H"))
        head = scene.complete(scene.begin(source))
        page = operator.get(address(head, "versions/1/return/"))
        parts = {name: [row.element for row in page.context[name]["rows"]] for name in ("cancelled", "restarted")}
        assert parts == {"cancelled": ["wait"], "restarted": ["Check"]}
        assert [row.element for row in page.context["irrevocable"]["rows"]] == ["tell"]
        assert scene.head(head).number == 2

    def test_returns_for_a_reason(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        where = address(head, "versions/1/return/")
        assert "This field is required" in operator.post(where, {"version": "2", "reason": " "}).content.decode()
        page = operator.post(where, {"version": "2", "reason": "wrong parcel"}, follow=True)
        assert "The instance has been returned to version 1." in page.content.decode()
        assert scene.chain(head)[-1] == (3, 1, "return to 1: wrong parcel")

    def test_sent_twice_it_happens_once(self, scene: Scene, operator: Client) -> None:
        head = scene.complete(scene.begin(ORDER))
        for _ in range(2):
            page = operator.post(address(head, "versions/1/return/"), {"version": "2", "reason": "x"})
        assert "has changed since you opened this page" in page.content.decode()
        assert scene.head(head).number == 3

    def test_to_the_newest_is_told_to_be_nothing(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(ORDER)
        page = operator.get(address(head, "versions/1/return/"), follow=True)
        assert "It is the newest version" in page.content.decode()
