"""Reads a file with its drawing, which the engine itself passes over."""

from lxml import etree

from processes.workflows.engine.bpmn.xml import Element, parse_tree


def read_whole(source: bytes) -> Element:
    """Give the root element, or raise NotExecutable as for the engine."""
    return _convert(parse_tree(source))


def _convert(node: etree._Element) -> Element:
    # A name without a namespace has no brace: all of it is then the name.
    space, _, name = str(node.tag).rpartition("}")
    return Element(
        space=space.removeprefix("{"),
        name=name,
        attributes={str(key): str(value) for key, value in node.attrib.items()},
        text=node.text or "",
        # The tag of a comment is no text.
        children=tuple(_convert(child) for child in node if isinstance(child.tag, str)),
        line=node.sourceline or 0,
    )
