"""The namespaces of other engines and modelers, and how their attributes and elements are found."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.dialects.drafts import Draft

DELEGATES = {
    "http://camunda.org/schema/1.0/bpmn": "camunda",
    "http://camunda.org/schema/1.0/cmmn": "camunda",
    "http://camunda.org/bpmn": "camunda",
    "http://operaton.org/schema/1.0/bpmn": "operaton",
    "http://operaton.org/schema/1.0/cmmn": "operaton",
    "http://flowable.org/bpmn": "flowable",
    "http://flowable.org/cmmn": "flowable",
    "http://camunda.org/schema/1.0/dmn": "camunda",
    "http://operaton.org/schema/1.0/dmn": "operaton",
    "http://flowable.org/dmn": "flowable",
    "http://activiti.org/bpmn": "activiti",
    "http://activiti.com/modeler": "modeler",
    "http://www.camunda.com/fox": "fox",
}
"""One family: its members took the words from one another."""
ZEEBE = "http://camunda.org/schema/zeebe/1.0"
PREFIXES = {
    **DELEGATES,
    ZEEBE: "zeebe",
    POSTERN: "postern",
    "http://www.jboss.org/drools": "tns",
    "http://spiffworkflow.org/bpmn/schema/1.0/core": "spiffworkflow",
    "http://camunda.org/schema/modeler/1.0": "modeler",
    "http://www.omg.org/spec/BPMN/non-normative/color/1.0": "color",
    "http://bpmn.io/schema/bpmn/biocolor/1.0": "bioc",
    "http://www.w3.org/2001/XMLSchema-instance": "xsi",
    "http://www.w3.org/XML/1998/namespace": "xml",
}
QUIET = frozenset({"color", "bioc", "xsi", "xml"})
"""How it looks, and how the file is written: nothing that could run."""


def get_prefix(space: str) -> str:
    """Return the usual prefix of a namespace, or its last part."""
    return PREFIXES.get(space) or space.rstrip("/#").rpartition("/")[2] or "?"


def take_attribute(element: Draft, *names: str) -> tuple[str, str]:
    """Remove the first of these attributes of the family and return what it is called and its value."""
    # Asked some dozen times of every element, of which few have an attribute of another namespace.
    if not any(name.startswith("{") for name in element.attributes):
        return "", ""
    for name in names:
        for space, prefix in DELEGATES.items():
            value = element.attributes.pop(f"{{{space}}}{name}", None)
            if value is not None:
                return f"{prefix}:{name}", value.strip()
    return "", ""


def peek_attribute(element: Draft, *names: str) -> str:
    """Return the value of the first of these attributes of the family; empty when there is none."""
    found = (element.get(f"{{{space}}}{name}") for name in names for space in DELEGATES)
    return next((value for value in found if value), "")


def take_elements(element: Draft, *names: str, zeebe: bool = False) -> list[Draft]:
    """Remove the extension elements of these names and return them."""
    spaces = (ZEEBE,) if zeebe else tuple(DELEGATES)
    found: list[Draft] = []
    for holder in element.all("extensionElements"):
        taken = [child for child in holder.children if child.space in spaces and child.name in names]
        found += taken
        holder.drop(lambda child, taken=taken: any(child is each for each in taken))  # type: ignore[misc]
    return found


def add_extension(element: Draft, name: str, text: str = "", /, **attributes: str) -> None:
    """Add an extension of our own, as if the file had it; one of the same name replaces what was said before."""
    holder = element.find("extensionElements")
    if holder is None:
        holder = Draft(element.space, "extensionElements", line=element.line)
        element.children.insert(0, holder)
    if attributes.get("name"):  # of two mappings to one variable the later one counts, as in other engines
        same = (POSTERN, name, attributes["name"])
        holder.drop(lambda child: (child.space, child.name, child.get("name")) == same)
    holder.add(name, text, space=POSTERN, **attributes)


def has_extension(element: Draft, *names: str) -> bool:
    """Return whether an element has an extension of our own with one of these names."""
    if any(f"{{{POSTERN}}}{name}" in element.attributes for name in names):
        return True
    children = (*element.children, *element.extensions())
    return any(child.space == POSTERN and child.name in names for child in children)


def list_foreign_attributes(element: Draft) -> Iterator[tuple[str, str]]:
    """Yield the attributes of other namespaces than ours: the name with its prefix, and the value."""
    for name, value in element.attributes.items():
        if name.startswith("{"):
            space, _, local = name[1:].partition("}")
            if space != POSTERN and get_prefix(space) not in QUIET:
                yield f"{get_prefix(space)}:{local}", value
