"""A picture before it is drawn: shapes and edges with their places, and the notation that draws them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from lxml import etree

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.colours import ShapeStyle


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Bounds:
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def centre(self) -> Point:
        return Point(self.x + self.width / 2, self.y + self.height / 2)

    @property
    def area(self) -> float:
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class DrawnElement:
    """The visible properties of an element of the model."""

    id: str
    kind: str
    """The name of its tag: `userTask`, `sequenceFlow`."""
    name: str = ""
    trigger: str = ""
    """Of an event: `timer`, `message` and so on; empty for none, `multiple` for several."""
    is_interrupting: bool = True
    is_event_triggered: bool = False
    """An event sub-process."""
    markers: tuple[str, ...] = ()
    """What stands at the bottom of an activity: `loop`, `parallel`, `sequential`, `compensation`, `ad_hoc`; of a plan
    item: `auto_complete`, `manual`, `required`, `repetition`."""
    variant: str = ""
    """Of an event-based gateway that begins a process: `exclusive` or `parallel`. Of an association: its direction."""
    is_default: bool = False
    is_conditional: bool = False
    """Of a flow: it has a condition and does not leave a gateway, which would say so already."""


@dataclass(frozen=True, slots=True)
class Shape:
    element: DrawnElement
    bounds: Bounds
    label: Bounds | None = None
    is_expanded: bool = True
    is_horizontal: bool = True
    has_marker: bool = True
    """Of an exclusive gateway: whether it shows its cross."""
    overhang: float = 0
    """How far it reaches above its bounds."""


@dataclass(frozen=True, slots=True)
class Edge:
    element: DrawnElement
    points: tuple[Point, ...]
    label: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    shapes: tuple[Shape, ...]
    edges: tuple[Edge, ...]
    shown_by: Mapping[str, str]
    """The shape that stands for an element, by element id: its own, or the collapsed one around it."""


DrawShape = Callable[[etree._Element, Shape, ShapeStyle], None]
"""Draw a shape in a group whose origin is the upper left corner of its bounds."""


class Layer(IntEnum):
    BEHIND = 0
    """What surrounds others, below the lines."""
    NODE = 1
    BORDER = 2
    """What sits on the border of a node."""


@dataclass(frozen=True, slots=True)
class Notation:
    """How a notation is drawn: its reader, and per shape the drawing function, the layer and the place of the name."""

    find_picture: Callable[[xml.XmlElement], Picture | None]
    find_draw: Callable[[Shape], DrawShape]
    find_layer: Callable[[Shape], Layer]
    is_labelled_beside: Callable[[Shape], bool]


_MARGIN = 24.0
"""Enough for the badges on the corners."""


def find_extent(picture: Picture, labels: Iterable[Bounds]) -> Bounds:
    """Return the area of a drawing: everything in it and a margin. Coordinates may be negative."""
    shapes = [(shape.bounds, shape.overhang) for shape in picture.shapes]
    boxes = [Bounds(box.x, box.y - above, box.width, box.height + above) for box, above in shapes]
    boxes += [Bounds(point.x, point.y, 0, 0) for edge in picture.edges for point in edge.points]
    boxes += labels
    left, top = min(box.x for box in boxes) - _MARGIN, min(box.y for box in boxes) - _MARGIN
    right, bottom = max(box.right for box in boxes) + _MARGIN, max(box.bottom for box in boxes) + _MARGIN
    return Bounds(left, top, right - left, bottom - top)
