"""The elements of a file while they are translated: the same as `XmlElement`, but they can be changed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.xml import XmlElement


@dataclass(slots=True, eq=False)
class Draft:
    space: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list["Draft"] = field(default_factory=list)
    line: int = 0

    @property
    def id(self) -> str:
        return self.attributes.get("id", "").strip()

    def get(self, name: str) -> str:
        """Return an attribute without surrounding space; empty when it is absent."""
        return self.attributes.get(name, "").strip()

    def all(self, name: str) -> Iterator["Draft"]:
        """Yield the children of that name in the element's own namespace."""
        return (child for child in self.children if child.name == name and child.space == self.space)

    def find(self, name: str) -> "Draft | None":
        return next(self.all(name), None)

    def own(self) -> Iterator["Draft"]:
        """Yield the children in the element's own namespace."""
        return (child for child in self.children if child.space == self.space)

    def walk(self) -> Iterator["Draft"]:
        """Yield the element and everything in it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()

    def extensions(self) -> Iterator["Draft"]:
        """Yield what stands in its `extensionElements`."""
        return (child for holder in self.all("extensionElements") for child in holder.children)

    def add(self, name: str, text: str = "", /, *, space: str | None = None, **attributes: str) -> "Draft":
        """Append a child, by default of the element's own namespace, and return it."""
        child = Draft(self.space if space is None else space, name, attributes, text, line=self.line)
        self.children.append(child)
        return child

    def drop(self, is_dropped: Callable[["Draft"], bool]) -> None:
        self.children = [child for child in self.children if not is_dropped(child)]

    def freeze(self) -> XmlElement:
        children = tuple(child.freeze() for child in self.children)
        return XmlElement(self.space, self.name, self.attributes, self.text, children, self.line)


def make_draft(element: XmlElement) -> Draft:
    # The parser has bounded the depth of this recursion.
    children = [make_draft(child) for child in element.children]
    return Draft(element.space, element.name, dict(element.attributes), element.text, children, element.line)
