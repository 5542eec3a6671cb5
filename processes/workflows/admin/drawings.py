"""Diagrams on admin pages: the drawing of a definition with marks on it, or a list of its elements instead."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import or_
from uuid import UUID

from django.contrib.admin.utils import quote
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext
from lxml import etree

from processes.workflows.admin.presentation import kind_label
from processes.workflows.diagrams import state_label
from processes.workflows.engine.definition import Node
from processes.workflows.engine.diagram import Marks, Note, draw_diagram, find_shown_state
from processes.workflows.engine.diagram.colours import BROKEN, FINISHED, OFFERED
from processes.workflows.engine.file_difference import FileDifference, compare_files
from processes.workflows.engine.runner import InstanceState
from processes.workflows.models import WorkflowRevision
from processes.workflows.services.definitions.library import get_compiled

MOST_ELEMENTS = 300
MOST_DRAWINGS = 5
Called = tuple[str, int]
"""The key of a definition and its revision."""


@dataclass(frozen=True)
class ListedElement:
    element: str
    name: str
    kind: str
    tokens: int
    has_incident: bool
    state: str = ""
    """Of a plan item; of several the most active one."""
    state_label: str = ""
    """With their number, where there are several."""


@dataclass(frozen=True)
class Drawing:
    title: str
    address: str
    """Of the image; empty where the file holds no diagram."""
    elements: list[ListedElement]
    """Listed where there is no diagram."""
    more: int = 0
    picture: str = ""
    """The image itself, where its marks are dear to find."""
    size: tuple[int, int] | None = None
    """Width and height of the image: without them the page would shift when it comes."""


def draw_revision(
    revision: WorkflowRevision, *, against: WorkflowRevision | None = None, query: Mapping[str, str] | None = None
) -> Drawing:
    """Return the drawing of a revision; with what differs from another one marked on it, or what a query asks for."""
    called = (revision.definition_id, revision.number)
    query = dict(query or ({} if against is None else {"against": str(against.number)}))
    address = reverse("admin:workflows_revision_diagram", args=[quote(called[0]), called[1]], query=query)
    if revision.is_executable:
        drawing = _drawing(called, revision.digest, address, Marks())
    else:  # it has no elements that could be listed
        size = measure_diagram(called[0], revision.digest)
        drawing = Drawing(str(revision.definition), address if size else "", [], size=size)
    if against is None:
        return drawing
    title = gettext("Revision %(number)s") % {"number": revision.number}
    return replace(drawing, title=f"{drawing.title}: {title}")


def compare_revisions(before: WorkflowRevision, after: WorkflowRevision) -> FileDifference:
    return compare_files(bytes(before.source), bytes(after.source))


def mark_changes(revision: WorkflowRevision, other: WorkflowRevision) -> Marks:
    """Return the marks of a revision's drawing beside another: what only it has, and what they have differently."""
    before, after = sorted((revision, other), key=lambda each: each.number)
    found = compare_revisions(before, after)
    is_newer = revision.number > other.number
    alone = Note(FINISHED, "+", gettext("added")) if is_newer else Note(BROKEN, "−", gettext("removed"))
    changed = Note(OFFERED, "~", gettext("changed"))
    notes = {change.id: alone for change in (found.added if is_newer else found.removed)}
    return Marks(notes={**{change.id: changed for change in found.changed}, **notes})


def draw_state(
    instance_id: UUID, version: int, state: InstanceState | None, *, own: Called, incidents: Iterable[str] = ()
) -> list[Drawing]:
    """Return the drawings of a version: its own definition first, then those that run in it by call activities."""
    shown = find_shown_definitions(state, own)
    address = reverse("admin:workflows_instance_diagram", args=[instance_id, version])
    revisions = reduce(or_, (Q(definition=key, number=revision) for key, revision in shown))
    rows = WorkflowRevision.objects.filter(revisions).values_list("definition_id", "number", "digest")
    digests = {(key, revision): digest for key, revision, digest in rows}
    return [
        _drawing(called, digests[called], f"{address}?of={place}", make_marks(state or {}, called, incidents))
        for place, called in enumerate(shown)
    ]


def find_shown_definitions(state: InstanceState | None, own: Called) -> list[Called]:
    return [own, *(each for each in find_definitions(state or {}) if each != own)][:MOST_DRAWINGS]


def find_definitions(state: InstanceState) -> list[Called]:
    """Return the definitions that run in a state, the first called first."""
    found = [scope["definition"] for scope in state.get("scopes", {}).values() if "definition" in scope]
    return list(dict.fromkeys((key, revision) for key, revision in found))


def make_marks(state: InstanceState, called: Called, incidents: Iterable[str] = ()) -> Marks:
    """Return the marks for one of the definitions of a state."""
    # Another definition may have elements of the same ids: their tokens must not be counted here.
    tokens = Counter(
        token["element"]
        for token in state.get("tokens", {}).values()
        if "loop" not in token and _find_definition(state, token["scope"]) == called
    )
    return Marks(active=tokens, incidents=frozenset(incidents), items=_count_items(state, called))


def get_element_names(called: Iterable[Called]) -> dict[str, str]:
    """Return the names of the elements of these definitions by their ids."""
    return {
        node.id: " ".join(node.name.split())
        for each in called
        for node in get_compiled(*each).nodes.values()
        if node.name
    }


def _drawing(called: Called, digest: str, address: str, marks: Marks) -> Drawing:
    definition = get_compiled(*called)
    title = definition.name or definition.key
    if size := measure_diagram(called[0], digest):
        return Drawing(title, address, [], size=size)
    elements = [_list_element(node, marks) for node in definition.nodes.values()]
    return Drawing(title, "", elements[:MOST_ELEMENTS], more=max(0, len(elements) - MOST_ELEMENTS))


def _list_element(node: Node, marks: Marks) -> ListedElement:
    shown = find_shown_state(marks.items.get(node.id, {}))
    state, count = shown if shown is not None else ("", 0)
    return ListedElement(
        node.id,
        " ".join(node.name.split()),
        kind_label(node.kind),
        marks.active.get(node.id, 0),
        node.id in marks.incidents,
        state,
        f"{state_label(state)}: {count}" if count > 1 else state_label(state),
    )


@lru_cache(maxsize=256)
def measure_diagram(key: str, digest: str) -> tuple[int, int] | None:
    """Return width and height of a file's diagram, None where it holds none; cached, because a file never changes."""
    rows = WorkflowRevision.objects.filter(definition=key, digest=digest)
    source = rows.values_list("source", flat=True).first()
    drawn = None if source is None else draw_diagram(bytes(source))
    if drawn is None:
        return None
    svg = etree.fromstring(drawn)
    return round(float(svg.get("width", 0))), round(float(svg.get("height", 0)))


def _count_items(state: InstanceState, called: Called) -> dict[str, Counter[str]]:
    """Count the plan items of one of the definitions by element and state."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in state.get("items", {}).values():
        if _find_definition(state, item["scope"]) == called:
            found[item["element"]][item["state"]] += 1
    return dict(found)


def _find_definition(state: InstanceState, scope: str) -> Called | None:
    record = state["scopes"][scope]
    while "definition" not in record and record["parent"] is not None:
        record = state["scopes"][record["parent"]]
    key, revision = record["definition"]
    return key, revision
