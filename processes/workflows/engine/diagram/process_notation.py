"""How processes are drawn: the shapes of BPMN."""

from processes.workflows.engine.diagram.nodes import draw_activity, draw_event, draw_gateway
from processes.workflows.engine.diagram.notation import Draw, Layer, Notation
from processes.workflows.engine.diagram.picture import Shape
from processes.workflows.engine.diagram.process_elements import SUB_PROCESSES
from processes.workflows.engine.diagram.process_interchange import find_picture
from processes.workflows.engine.diagram.surroundings import (
    draw_annotation,
    draw_data,
    draw_group,
    draw_lane,
    draw_pool,
    draw_store,
)

_DRAWN: dict[str, Draw] = {
    "participant": draw_pool,
    "lane": draw_lane,
    "dataObjectReference": draw_data,
    "dataObject": draw_data,
    "dataInput": draw_data,
    "dataOutput": draw_data,
    "dataStoreReference": draw_store,
    "textAnnotation": draw_annotation,
    "group": draw_group,
    "callActivity": draw_activity,
    "subProcess": draw_activity,
    "transaction": draw_activity,
    "adHocSubProcess": draw_activity,
}
_LABELLED_INSIDE = frozenset({"participant", "lane", "textAnnotation", "group"})


def _find_draw(shape: Shape) -> Draw:
    kind = shape.element.kind
    if kind.endswith("Event"):
        return draw_event
    if kind.endswith("Gateway"):
        return draw_gateway
    # Whatever else has bounds is shown as a box with its name.
    return _DRAWN.get(kind, draw_activity)


def _find_layer(shape: Shape) -> Layer:
    kind = shape.element.kind
    if kind in ("participant", "lane", "group") or (kind in SUB_PROCESSES and shape.is_expanded):
        return Layer.BEHIND
    return Layer.BORDER if kind == "boundaryEvent" else Layer.NODE


def _is_labelled_beside(shape: Shape) -> bool:
    return shape.element.kind not in _LABELLED_INSIDE and _find_draw(shape) is not draw_activity


PROCESS = Notation(find_picture, _find_draw, _find_layer, _is_labelled_beside)
