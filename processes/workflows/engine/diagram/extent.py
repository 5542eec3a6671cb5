"""How much room a picture takes. Coordinates may be negative: the drawing begins where the picture does."""

from collections.abc import Iterable, Iterator

from processes.workflows.engine.diagram.picture import Bounds, Picture

_MARGIN = 24.0
"""Enough for the badges on the corners."""


def find_extent(picture: Picture, labels: Iterable[Bounds]) -> Bounds:
    boxes = [*_shapes(picture), *_points(picture), *labels]
    left, top = min(box.x for box in boxes) - _MARGIN, min(box.y for box in boxes) - _MARGIN
    right, bottom = max(box.right for box in boxes) + _MARGIN, max(box.bottom for box in boxes) + _MARGIN
    return Bounds(left, top, right - left, bottom - top)


def _shapes(picture: Picture) -> Iterator[Bounds]:
    for shape in picture.shapes:
        box, above = shape.bounds, shape.overhang
        yield Bounds(box.x, box.y - above, box.width, box.height + above)


def _points(picture: Picture) -> Iterator[Bounds]:
    for edge in picture.edges:
        for point in edge.points:
            yield Bounds(point.x, point.y, 0, 0)
