"""How cases are drawn: the shapes of CMMN."""

from processes.workflows.engine.diagram.case_elements import CRITERIA
from processes.workflows.engine.diagram.case_interchange import find_picture
from processes.workflows.engine.diagram.case_plan import draw_case_plan
from processes.workflows.engine.diagram.criteria import draw_criterion
from processes.workflows.engine.diagram.notation import Draw, Layer, Notation
from processes.workflows.engine.diagram.picture import Shape
from processes.workflows.engine.diagram.plan_items import draw_item, draw_listener, draw_milestone, draw_stage
from processes.workflows.engine.diagram.surroundings import draw_annotation, draw_data

_DRAWN: dict[str, Draw] = {
    "casePlanModel": draw_case_plan,
    "stage": draw_stage,
    "milestone": draw_milestone,
    "eventListener": draw_listener,
    "timerEventListener": draw_listener,
    "userEventListener": draw_listener,
    "caseFileItem": draw_data,
    "textAnnotation": draw_annotation,
    **dict.fromkeys(CRITERIA, draw_criterion),
}
_LABELLED_BESIDE = (draw_listener, draw_criterion, draw_data)


def _find_draw(shape: Shape) -> Draw:
    # Whatever else has bounds is shown as a box with its name.
    return _DRAWN.get(shape.element.kind, draw_item)


def _find_layer(shape: Shape) -> Layer:
    kind = shape.element.kind
    if kind == "casePlanModel" or (kind == "stage" and shape.is_expanded):
        return Layer.BEHIND
    return Layer.BORDER if kind in CRITERIA else Layer.NODE


def _is_labelled_beside(shape: Shape) -> bool:
    return _find_draw(shape) in _LABELLED_BESIDE


CASE = Notation(find_picture, _find_draw, _find_layer, _is_labelled_beside)
