"""Reads a file with its drawing, which the engine itself passes over."""

from lxml import etree

from processes.workflows.engine.bpmn.xml import XmlElement, parse_tree


def read_whole(source: bytes) -> XmlElement:
    """Give the root element, or raise NotExecutable as for the engine."""
    return _convert(parse_tree(source))


def _convert(node: etree._Element) -> XmlElement:
    # A name without a namespace has no brace: all of it is then the name.
    space, _, name = str(node.tag).rpartition("}")
    return XmlElement(
        space=space.removeprefix("{"),
        name=name,
        attributes={str(key): str(value) for key, value in node.attrib.items()},
        text=node.text or "",
        # The tag of a comment is no text.
        children=tuple(_convert(child) for child in node if isinstance(child.tag, str)),
        line=node.sourceline or 0,
    )
