"""Forms of other tools: what of them is shown, and forms that are not in the file."""

from processes.workflows.engine.bpmn.json_forms import decode_form, find_form_reference, list_unread
from processes.workflows.engine.bpmn.people import VENDORS, ZEEBE
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.tasks import CODE, FOR_PEOPLE
from processes.workflows.engine.dialects.vendors import get_prefix
from processes.workflows.engine.patterns import NotPattern, compile_pattern

MISSING = "The form is not in the file: publish it together with the file."
ELSEWHERE = "The form is elsewhere: it is not shown here."
NOT_JSON = "The form cannot be read."
AT_START = "Nothing asks for it: an instance is started with its variables."
NO_PATTERN = "This pattern is not supported; any text is accepted."
OURS = "the form of the task"
_RULES = frozenset({"required", "readonly", "min", "max", "minlength", "maxlength", "pattern"})
_KEYS = ("formKey", "formRef", "formRefBinding", "formRefVersion", "formHandlerClass", "formFieldValidation")


def note_forms(context: Context, node: Draft, forms: dict[str, Draft]) -> None:
    """List what becomes of the form of an element; `forms` are those of the process by their ids."""
    fields = [child for child in node.extensions() if child.space in VENDORS and child.name.startswith("form")]
    if node.name not in FOR_PEOPLE:
        for child in fields:
            context.report.draw(child, f"{get_prefix(child.space)}:{child.name}", AT_START, of=node)
            child.name = ""  # noted
        for holder in node.all("extensionElements"):
            holder.drop(lambda child: not child.name)
        return
    for child in fields:
        context.report.translate(child, f"{get_prefix(child.space)}:{child.name}", child.id, OURS, of=node)
        _note_rules(context, node, child)
    reference = find_form_reference(node.freeze())
    if reference:
        _note_linked(context, node, reference, forms.get(reference))
    else:
        _note_elsewhere(context, node)


def list_forms(process: Draft) -> dict[str, Draft]:
    """Return the forms of JSON in a process by their ids."""
    found = (child for child in process.extensions() if child.space == ZEEBE and child.name == "userTaskForm")
    return {child.id: child for child in found}


def _note_rules(context: Context, node: Draft, holder: Draft) -> None:
    for rule in (each for each in holder.walk() if each.name == "constraint"):
        name, config = rule.get("name"), rule.get("config")
        if name not in _RULES:
            context.report.draw(rule, f"constraint {name}", CODE, of=node)
        elif name == "pattern" and not _is_pattern(config):
            context.report.draw(rule, f"pattern {config}", NO_PATTERN, of=node)


def _note_linked(context: Context, node: Draft, reference: str, form: Draft | None) -> None:
    what = f"form {reference}"
    if form is None:
        context.report.draw(node, what, MISSING, of=node)
        return
    found = decode_form(form.text)
    if found is None:
        context.report.draw(form, what, NOT_JSON, of=node)
        return
    context.report.translate(form, what, str(found.get("id", reference)), OURS, of=node)
    for unread in list_unread(found):
        context.report.draw(form, unread.what, unread.why, of=node)
    for pattern in _list_patterns(found):
        context.report.draw(form, f"pattern {pattern}", NO_PATTERN, of=node)


def _list_patterns(form: object) -> list[str]:
    """Return the patterns of a form that cannot be matched."""
    found: list[str] = []
    rest = [form]
    while rest:
        each = rest.pop()
        if isinstance(each, list):
            rest += each
        elif isinstance(each, dict):
            rules = each.get("validate")
            pattern = rules.get("pattern") if isinstance(rules, dict) else None
            if isinstance(pattern, str) and pattern and not _is_pattern(pattern):
                found.append(pattern)
            rest.append(each.get("components"))
    return found


def _is_pattern(text: str) -> bool:
    try:
        compile_pattern(text)
    except NotPattern:
        return False
    return True


def _note_elsewhere(context: Context, node: Draft) -> None:
    """Note a form that another application shows: a page, or a class that makes one."""
    for key in list(node.attributes):
        space, _, name = key.removeprefix("{").partition("}")
        if space in VENDORS and name in _KEYS:
            value = node.attributes.pop(key)
            context.report.draw(node, f"{get_prefix(space)}:{name} {value}", ELSEWHERE, of=node)
    for child in node.extensions():
        if child.space == ZEEBE and child.name == "formDefinition":
            context.report.draw(child, "zeebe:formDefinition", ELSEWHERE, of=node)
