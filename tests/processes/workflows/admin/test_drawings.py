"""Cases as pages show them."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation
from lxml import etree

from processes.workflows.admin.drawings import Drawing, ListedElement, draw_revision, draw_state, make_marks
from processes.workflows.admin.presentation import KINDS
from processes.workflows.diagrams import STATES, respond_with_diagram
from processes.workflows.engine import diagram
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.diagram import Marks
from processes.workflows.engine.runner import InstanceState
from processes.workflows.models import WorkflowRevision
from tests.processes.workflows.case_files import case, human, listener, milestone
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

CLAIM = Path(__file__).parents[1] / "engine/diagram/files/claim.cmmn"
STATE: InstanceState = {
    "scopes": {
        "0.1": {"element": "c", "parent": None, "token": None, "variables": {}, "definition": ["c", 1]},
        "0.2": {"element": "plan", "parent": "0.1", "token": "0.3", "variables": {}},
        "0.7": {"element": "d", "parent": "0.2", "token": "0.4", "variables": {}, "definition": ["d", 2]},
    },
    "items": {
        "0.3": {"element": "plan", "scope": "0.1", "state": "active", "since": ""},
        "0.4": {"element": "A", "scope": "0.2", "state": "active", "since": ""},
        "0.5": {"element": "A", "scope": "0.2", "state": "active", "since": ""},
        "0.6": {"element": "A", "scope": "0.2", "state": "completed", "since": ""},
        "0.8": {"element": "A", "scope": "0.7", "state": "failed", "since": ""},
    },
}
OWN: InstanceState = {
    "scopes": {key: scope for key, scope in STATE["scopes"].items() if key != "0.7"},
    "items": {key: item for key, item in STATE["items"].items() if item["scope"] != "0.7"},
}


class TestMarks:
    def test_the_items_of_a_definition_are_counted_by_their_states(self) -> None:
        assert make_marks(STATE, ("c", 1)).items == {"plan": {"active": 1}, "A": {"active": 2, "completed": 1}}

    def test_a_case_inside_has_items_of_its_own(self) -> None:
        assert make_marks(STATE, ("d", 2)).items == {"A": {"failed": 1}}


class TestDiagram:
    def test_states_are_said_in_the_language_of_the_reader(self) -> None:
        revision = WorkflowRevision(source=CLAIM.read_bytes())
        with translation.override("en"):
            answer = respond_with_diagram(revision, Marks(items={"P_pay": {"active": 2}}))
        assert answer is not None
        assert "<title>Pay the customer – active: 2</title>" in answer.content.decode()

    def test_every_state_and_every_kind_has_a_word(self) -> None:
        assert set(STATES) == set(diagram.STATES)
        assert set(KINDS) == set(NodeKind)


class TestPage:
    def test_shows_a_case_as_an_image(self, scene: Scene, operator: Client) -> None:
        scene.publish(CLAIM.read_bytes())
        place = "/admin/workflows/workflowdefinition/claim"
        address = f"{place}/revisions/1/diagram.svg"
        drawn = operator.get(address).content
        assert b"P_inspect" in drawn
        svg = etree.fromstring(drawn)
        # The page keeps room for it before it is there.
        size = " ".join(f'{name}="{round(float(svg.get(name)))}"' for name in ("width", "height"))
        assert f'<img src="{address}" {size}' in operator.get(f"{place}/change/").content.decode()

    def test_lists_the_items_of_a_case_without_a_diagram(self, scene: Scene) -> None:
        scene.publish(case(human("A", name="Ask"), milestone("M", entry="A complete"), listener("L")).encode())
        drawing = draw_revision(WorkflowRevision.objects.get())
        assert drawing.address == ""
        assert {(listed.element, listed.kind) for listed in drawing.elements} == {
            ("plan", "case plan"),
            ("A", "human task"),
            ("M", "milestone"),
            ("L", "user event listener"),
        }

    def test_the_list_of_an_instance_tells_the_most_alive_state(self, scene: Scene) -> None:
        scene.publish(case(human("A"), human("B"), key="c").encode())
        [drawing] = draw_state(uuid4(), 1, OWN, own=("c", 1))
        told = {listed.element: (listed.state, listed.state_label) for listed in drawing.elements}
        assert told == {"plan": ("active", "active"), "A": ("active", "active: 2"), "B": ("", "")}

    def test_an_item_in_the_list_says_its_state(self) -> None:
        elements = [
            ListedElement("A", "Ask", "human task", 0, False, "failed", "failed: 2"),
            ListedElement("B", "", "stage", 0, False),
        ]
        page = render_to_string("admin/workflows/drawings.html", {"drawings": [Drawing("c", "", elements)]})
        assert '<li data-mark="incident">' in page
        assert '<strong class="pst-item-state" data-state="failed">failed: 2</strong>' in page
        assert page.count("pst-item-state") == 1
