"""Edges: flows, connectors and associations. Arrow heads are paths, because an SVG marker would be a reference."""

import math
from collections.abc import Sequence

from lxml import etree

from processes.workflows.engine.diagram.colours import FRAME, LINE, PAPER
from processes.workflows.engine.diagram.picture import Edge, Point
from processes.workflows.engine.diagram.svg import add_element, format_number, make_path

_HEAD = 9.0
_CORNER = 6.0


def draw_edge(group: etree._Element, edge: Edge) -> None:
    kind = edge.element.kind
    if kind == "sequenceFlow":
        _draw_sequence(group, edge)
    elif kind == "messageFlow":
        _draw_message(group, edge)
    elif kind == "informationRequirement":
        _draw_sequence(group, edge)
    elif kind in ("knowledgeRequirement", "authorityRequirement"):
        _draw_required(group, edge)
    elif kind.endswith("OnPart"):
        _draw_line(group, edge.points, LINE, dashes="9 5 1 5")
    else:
        _draw_association(group, edge)


def _draw_sequence(group: etree._Element, edge: Edge) -> None:
    # The line ends inside the head: its square end would show beside the tip.
    _draw_line(group, [*edge.points[:-1], _point_towards(edge.points[-1], edge.points[-2], _HEAD - 1)], LINE)
    add_element(group, "path", d=_arrow_head(edge.points, closed=True), fill=LINE, stroke=LINE, stroke_linejoin="round")
    if edge.element.is_default:
        _draw_slash(group, edge.points)
    if edge.element.is_conditional:
        _draw_condition(group, edge.points)


def _draw_message(group: etree._Element, edge: Edge) -> None:
    _draw_line(group, edge.points, LINE, dashes="7 5")
    start = _point_towards(edge.points[0], edge.points[1], 4)
    add_element(group, "circle", cx=start.x, cy=start.y, r=4, fill=PAPER, stroke=LINE, stroke_width=1.5)
    add_element(
        group, "path", d=_arrow_head(edge.points, closed=True), fill=PAPER, stroke=LINE, stroke_linejoin="round"
    )


def _draw_required(group: etree._Element, edge: Edge) -> None:
    """Draw the requirement of a function, which ends in an open arrow, or of a source, which ends in a dot."""
    _draw_line(group, edge.points, LINE, dashes="7 5")
    if edge.element.kind == "knowledgeRequirement":
        add_element(group, "path", d=_arrow_head(edge.points, closed=False), fill="none", stroke=LINE, stroke_width=1.5)
    else:
        tip = edge.points[-1]
        add_element(group, "circle", cx=tip.x, cy=tip.y, r=4, fill=LINE, stroke=LINE)


def _draw_association(group: etree._Element, edge: Edge) -> None:
    _draw_line(group, edge.points, FRAME, dashes="1 4")
    variant, is_data = edge.element.variant, edge.element.kind.startswith("data")
    if is_data or variant in ("one", "both"):
        add_element(
            group, "path", d=_arrow_head(edge.points, closed=False), fill="none", stroke=FRAME, stroke_width=1.5
        )
    if variant == "both":
        back = _arrow_head(tuple(reversed(edge.points)), closed=False)
        add_element(group, "path", d=back, fill="none", stroke=FRAME, stroke_width=1.5)


def _draw_line(group: etree._Element, points: Sequence[Point], ink: str, dashes: str = "") -> None:
    line = add_element(
        group, "path", d=_rounded_path(points), fill="none", stroke=ink, stroke_width=1.6, stroke_linejoin="round"
    )
    if dashes:
        line.set("stroke-dasharray", dashes)
        line.set("stroke-linecap", "round")


def _draw_slash(group: etree._Element, points: Sequence[Point]) -> None:
    centre = _point_towards(points[0], points[1], 12)
    along, across = _unit_vectors(points[0], points[1])
    ends = [
        (centre.x + side * (along.x * 3 + across.x * 5), centre.y + side * (along.y * 3 + across.y * 5))
        for side in (-1, 1)
    ]
    add_element(group, "path", d=make_path(*ends), fill="none", stroke=LINE, stroke_width=1.6, stroke_linecap="round")


def _draw_condition(group: etree._Element, points: Sequence[Point]) -> None:
    along, across = _unit_vectors(points[0], points[1])
    start = points[0]
    corners = [
        (start.x + along.x * forth + across.x * aside, start.y + along.y * forth + across.y * aside)
        for forth, aside in ((0, 0), (7, 4.5), (14, 0), (7, -4.5))
    ]
    add_element(group, "path", d=make_path(*corners, closed=True), fill=PAPER, stroke=LINE, stroke_width=1.4)


def _arrow_head(points: Sequence[Point], *, closed: bool) -> str:
    tip = points[-1]
    along, across = _unit_vectors(points[-2], tip)
    base = Point(tip.x - along.x * _HEAD, tip.y - along.y * _HEAD)
    sides = [(base.x + across.x * side, base.y + across.y * side) for side in (-4, 4)]
    return make_path(sides[0], (tip.x, tip.y), sides[1], closed=closed)


def _rounded_path(points: Sequence[Point]) -> str:
    """Return a path with rounded corners, where the lines at a corner are long enough."""
    data = [f"M{_format_point(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(_CORNER, _distance(before, corner) / 2, _distance(corner, after) / 2)
        data.append(f"L{_format_point(_point_towards(corner, before, radius))}")
        data.append(f"Q{_format_point(corner)} {_format_point(_point_towards(corner, after, radius))}")
    data.append(f"L{_format_point(points[-1])}")
    return "".join(data)


def _point_towards(start: Point, end: Point, distance: float) -> Point:
    """Return the point at this distance from `start` towards `end`, and never beyond `end`."""
    along, _ = _unit_vectors(start, end)
    length = min(distance, _distance(start, end))
    return Point(start.x + along.x * length, start.y + along.y * length)


def _unit_vectors(start: Point, end: Point) -> tuple[Point, Point]:
    """Return the unit vectors along a line and across it; two equal points count as a horizontal line."""
    length = _distance(start, end)
    if length == 0:
        return Point(1, 0), Point(0, 1)
    along = Point((end.x - start.x) / length, (end.y - start.y) / length)
    return along, Point(-along.y, along.x)


def _distance(start: Point, end: Point) -> float:
    return math.dist((start.x, start.y), (end.x, end.y))


def _format_point(point: Point) -> str:
    return f"{format_number(point.x)} {format_number(point.y)}"
