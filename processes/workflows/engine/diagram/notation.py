"""What a notation decides of a drawing: how its file is read, and by what and in which order its shapes are drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from lxml import etree

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.colours import ShapeStyle
from processes.workflows.engine.diagram.picture import Picture, Shape

Draw = Callable[[etree._Element, Shape, ShapeStyle], None]
"""Draw a shape in a group whose origin is the upper left corner of its bounds."""


class Layer(IntEnum):
    BEHIND = 0
    """What surrounds others, below the lines."""
    NODE = 1
    BORDER = 2
    """What sits on the border of a node."""


@dataclass(frozen=True, slots=True)
class Notation:
    find_picture: Callable[[xml.XmlElement], Picture | None]
    find_draw: Callable[[Shape], Draw]
    find_layer: Callable[[Shape], Layer]
    is_labelled_beside: Callable[[Shape], bool]
