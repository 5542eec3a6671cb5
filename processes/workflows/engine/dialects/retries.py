"""How often work is tried again, as other engines write it, in ours: `postern:retry`."""

from processes.workflows.engine.bpmn.retries import NotRetries, parse_retries
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.vendors import add_extension, has_extension, take_elements

NOT_LITERAL = "How often work is tried is a literal here, such as R3/PT10M."
NO_WORK = "Nothing in it could fail and be tried again."
_DONE_BY_WORKERS = frozenset({"serviceTask", "sendTask", "businessRuleTask"})


def translate_retries(context: Context, node: Draft) -> None:
    """Translate `failedJobRetryTimeCycle` of an activity or of its loop; the last that is written counts."""
    loop = node.find("multiInstanceLoopCharacteristics")
    found = take_elements(node, "failedJobRetryTimeCycle")
    found += take_elements(loop, "failedJobRetryTimeCycle") if loop is not None else []
    for cycle in found:
        if node.name not in _DONE_BY_WORKERS or not has_extension(node, "handler"):
            context.report.draw(cycle, "failedJobRetryTimeCycle", NO_WORK, of=node)
        else:
            set_retries(context, node, cycle, "failedJobRetryTimeCycle", cycle.text)


def set_retries(context: Context, node: Draft, holder: Draft, what: str, text: str) -> None:
    """Let work be tried as often as a text says; one that is no literal has no effect."""
    try:
        plan = parse_retries(text)
    except NotRetries:
        context.report.draw(holder, what, NOT_LITERAL, of=node)
        return
    for place in node.all("extensionElements"):
        place.drop(lambda child: child.name == "retry")
    add_extension(node, "retry", text.strip())
    context.report.translate(holder, what, text, f"attempts: {plan.tries}", of=node)
