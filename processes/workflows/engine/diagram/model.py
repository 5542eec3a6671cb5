"""The elements of a file's model, as drawings of either notation look them up."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from processes.workflows.engine.bpmn import xml

LONGEST_NAME = 200

Index = Mapping[str, xml.XmlElement]
"""The elements of the model by their ids."""


@dataclass(slots=True)
class Model:
    """The elements of the file by their ids, and the id of what each lies in. Of two with one id the first counts."""

    elements: dict[str, xml.XmlElement] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def lineage(self, key: str) -> Iterator[str]:
        """Name an element and what it lies in; no further than elements can be nested: what is told may go round."""
        return islice(self._climb(key), xml.MAX_DEPTH)

    def _climb(self, key: str) -> Iterator[str]:
        while key:
            yield key
            key = self.parents[key]


def gather(root: xml.XmlElement) -> Model:
    """Note what lies in what, in the namespace of the root."""
    model = Model()
    _gather(model, root, "", root.space)
    return model


def find_referred(reference: str, index: Index) -> xml.XmlElement | None:
    """Find what a qualified name refers to: with its prefix or without it."""
    found = index.get(reference.strip())
    return index.get(reference.strip().rpartition(":")[2]) if found is None else found


def children(node: xml.XmlElement, space: str, name: str) -> Iterator[xml.XmlElement]:
    return (child for child in node.children if child.name == name and child.space == space)


def is_true(node: xml.XmlElement, attribute: str, *, otherwise: bool = False) -> bool:
    value = node.get(attribute)
    return value in ("true", "1") if value else otherwise


def shorten(text: str) -> str:
    """Trim each line and cut what is longer than a label may be."""
    # Only so much is looked at: a name may be as long as the file.
    lines = [" ".join(line.split()) for line in text[: LONGEST_NAME * 4].splitlines()]
    clean = "\n".join(line for line in lines if line)
    return clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 1] + "…"


def _gather(model: Model, node: xml.XmlElement, parent: str, space: str) -> None:
    # The reader has limited how deep this goes.
    for child in node.children:
        if child.space != space:
            continue
        is_new = child.id != "" and child.id not in model.elements
        if is_new:
            model.elements[child.id] = child
            model.parents[child.id] = parent
        _gather(model, child, child.id if is_new else parent, space)
