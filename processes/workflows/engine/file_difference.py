"""The difference between two files of a definition, element by element, in whichever notation."""

from collections.abc import Iterator
from dataclasses import dataclass

from processes.workflows.engine.bpmn.xml import XmlElement, parse_xml

MOST_LISTED = 500

Content = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ElementChange:
    id: str
    name: str
    kind: str
    """The element's name in the notation."""


@dataclass(frozen=True, slots=True)
class FileDifference:
    """At most `MOST_LISTED` elements of each, in the order of their file."""

    added: tuple[ElementChange, ...]
    removed: tuple[ElementChange, ...]
    changed: tuple[ElementChange, ...]


def compare_files(before: bytes, after: bytes) -> FileDifference:
    """Compare by the ids of the elements; where something was drawn does not count, nor where it stands in the file.

    An element that only moved into another one has changed; so has one whose parts without an id did.
    """
    old, new = dict(_list_elements(parse_xml(before))), dict(_list_elements(parse_xml(after)))
    return FileDifference(
        added=_describe(element for key, (element, _) in new.items() if key not in old),
        removed=_describe(element for key, (element, _) in old.items() if key not in new),
        changed=_describe(element for key, (element, is_) in new.items() if key in old and old[key][1] != is_),
    )


def _describe(elements: Iterator[XmlElement]) -> tuple[ElementChange, ...]:
    found = (ElementChange(each.id, " ".join(each.get("name").split()), each.name) for each in elements)
    return tuple(change for change, _ in zip(found, range(MOST_LISTED), strict=False))


def _list_elements(root: XmlElement) -> Iterator[tuple[str, tuple[XmlElement, Content]]]:
    waiting = [(root, "")]
    while waiting:
        element, parent = waiting.pop()
        if element.id:
            yield element.id, (element, (parent, *_read_content(element)))
        inner = element.id or parent
        waiting += [(child, inner) for child in reversed(element.children)]


def _read_content(element: XmlElement) -> Content:
    """Return what an element says itself: its parts with an id speak for themselves."""
    # What flows in and out is said by the flows, and modelers write it in any order.
    parts = (child for child in element.children if not child.id and child.name not in ("incoming", "outgoing"))
    attributes = tuple(sorted((name, value.strip()) for name, value in element.attributes.items()))
    return element.name, attributes, element.text.strip(), tuple(_read_content(part) for part in parts)
