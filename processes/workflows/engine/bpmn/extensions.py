"""Extensions of the namespace `https://postern.dev/bpmn/1.0`, whichever way they are written.

`postern:handler="external"` on the element, `<postern:handler>external</postern:handler>` and
`<postern:handler value="external"/>` within its `extensionElements` say the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.xml import XmlElement

POSTERN = "https://postern.dev/bpmn/1.0"


@dataclass(frozen=True, slots=True)
class Extensions:
    elements: tuple[XmlElement, ...]

    def all(self, name: str) -> Iterator[XmlElement]:
        return (element for element in self.elements if element.name == name)

    def find(self, name: str) -> XmlElement | None:
        return next(self.all(name), None)

    def value(self, name: str) -> str:
        """Return the value of an extension; empty when it is absent."""
        found = self.find(name)
        return read_value(found) if found is not None else ""


def read_extensions(subject: Subject, *more: XmlElement, known: frozenset[str]) -> Extensions:
    """Return the extensions of an element and of elements that belong to it, such as its event definition.

    An extension without a meaning there is refused: ignored, it would mislead its author.
    """
    elements = [found for holder in (subject.element, *more) for found in _list_extensions(holder)]
    for unknown in (element for element in elements if element.name not in known):
        subject.refuse(f"The extension postern:{unknown.name[:50]} has no meaning here.", unknown)
    return Extensions(tuple(elements))


def read_value(element: XmlElement) -> str:
    """Return the text of an extension element, or the attribute that may stand for it."""
    says = (element.get(name) for name in ("value", "expression", "name"))
    return element.text or next((value for value in says if value), "")


_GROUPS = ("handler", "inputs", "outputs")
"""May hold inputs of their own."""


def _list_extensions(holder: XmlElement) -> Iterator[XmlElement]:
    yield from _list_attributes(holder)
    for place in (holder, *holder.all("extensionElements")):
        for child in place.children:
            if child.space == POSTERN:
                yield child
                if child.name in _GROUPS:
                    yield from (inner for inner in child.children if inner.space == POSTERN)


def _list_attributes(holder: XmlElement) -> Iterator[XmlElement]:
    """Yield the attributes of the postern namespace as elements, so that callers know one form."""
    prefix = f"{{{POSTERN}}}"
    for name, value in holder.attributes.items():
        if name.startswith(prefix):
            yield XmlElement(POSTERN, name.removeprefix(prefix), {}, value.strip(), (), holder.line)
