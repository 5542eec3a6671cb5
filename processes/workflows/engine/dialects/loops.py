"""Multi-instance and standard loops of other engines."""

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.loops import MAX_ROUNDS
from processes.workflows.engine.dialects.context import Context, local_name
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.mappings import ask
from processes.workflows.engine.dialects.tasks import CODE
from processes.workflows.engine.dialects.vendors import take_attribute, take_elements


def translate_loop(context: Context, node: Draft) -> None:
    """Translate the loop of an activity, if it has one."""
    several = node.find("multiInstanceLoopCharacteristics")
    if several is not None:
        _translate_zeebe(context, node, several)
        _translate_delegate(context, node, several)
        _translate_counts(context, node, several)
        _complete_rounds(context, node, several)
    standard = node.find("standardLoopCharacteristics")
    if standard is not None:
        _translate_standard(context, node, standard)


def _translate_zeebe(context: Context, node: Draft, loop: Draft) -> None:
    for found in take_elements(loop, "loopCharacteristics", zeebe=True):
        _set_collection(context, node, loop, "zeebe:inputCollection", found.get("inputCollection"))
        item = found.get("inputElement")
        if is_variable(item):
            loop.add("inputDataItem", name=item)
        elif item:
            context.report.draw(found, f"zeebe:inputElement {item}", NO_VARIABLE, of=node)
        if is_variable(found.get("outputCollection")):
            loop.add("loopDataOutputRef", found.get("outputCollection"))
            value = context.translate(found, found.get("outputElement"), "zeebe:outputElement", of=node)
            if value is None:
                context.report.draw(found, "zeebe:outputElement", CODE, of=node)
            else:
                loop.attributes[f"{{{POSTERN}}}outputElement"] = value


def _translate_delegate(context: Context, node: Draft, loop: Draft) -> None:
    what, collection = take_attribute(loop, "collection")
    item_name, item = take_attribute(loop, "elementVariable")
    if collection:
        loop.drop(lambda child: child.name == "loopDataInputRef")
        _set_collection(context, node, loop, what, collection)
    if item and is_variable(item):
        loop.drop(lambda child: child.name == "inputDataItem")
        loop.add("inputDataItem", name=item)
    elif item:
        context.report.draw(loop, f"{item_name} {item}", NO_VARIABLE, of=node)
    index_name, index = take_attribute(loop, "elementIndexVariable")
    if index:
        context.report.draw(loop, index_name, INDEX, of=node)


INDEX = "The number of a round is the variable loopCounter, which counts from 1."


def _set_collection(context: Context, node: Draft, loop: Draft, what: str, written: str) -> None:
    value: str | None = written
    if not is_variable(written):
        value = context.translate(loop, written, what, of=node)
    else:
        context.report.translate(loop, what, written, f"loopDataInputRef {written}", of=node)
    if value is None:
        value = ask(context, node, written, what)
    if is_variable(value):
        loop.add("loopDataInputRef", value)
    else:
        loop.attributes[f"{{{POSTERN}}}collection"] = value


def _translate_counts(context: Context, node: Draft, loop: Draft) -> None:
    for name in ("loopCardinality", "completionCondition"):
        found = loop.find(name)
        if found is None or not found.text:
            continue
        text = context.translate(found, found.text, name, of=node, language=found.get("language"))
        if text is None and name == "completionCondition":
            context.report.draw(found, name, CODE, of=node)
        elif text is None:
            text = ask(context, node, found.text, name)
        found.text = text or ""


def _complete_rounds(context: Context, node: Draft, loop: Draft) -> None:
    """Find the variable behind a data input, as the standard has it; without any number there is one round."""
    collection = loop.find("loopDataInputRef")
    inputs = {child.id for child in node.walk() if child.name in ("dataInput", "dataOutput") and child.id}
    if collection is not None and (collection.text in inputs or not is_variable(collection.text)):
        found = _find_source(context, node, collection.text)
        if found:
            context.report.translate(collection, "loopDataInputRef", collection.text, found, of=node)
            collection.text = found
        else:
            loop.drop(lambda child: child is collection)
            context.report.draw(collection, "loopDataInputRef", NO_VARIABLE, of=node)
    _check_items(context, node, loop)
    numbers = [child for child in loop.own() if child.name in ("loopCardinality", "loopDataInputRef") and child.text]
    if not numbers and f"{{{POSTERN}}}collection" not in loop.attributes:
        loop.drop(lambda child: child.name == "loopCardinality")
        loop.add("loopCardinality", "1")
        context.report.translate(loop, loop.name, "", "one round: nothing says how many", of=node)


NO_VARIABLE = "It names no variable."


def _check_items(context: Context, node: Draft, loop: Draft) -> None:
    """Drop items and outputs that name no variable."""
    outputs = {child.id for child in node.walk() if child.name == "dataOutput" and child.id}
    for name in ("inputDataItem", "outputDataItem", "loopDataOutputRef"):
        for child in list(loop.all(name)):
            words = (child.get("name"), child.id, child.text)
            if name == "loopDataOutputRef" and (child.text in outputs or not is_variable(child.text)):
                child.text = _find_source(context, node, child.text) or _name_data(context, child.text)
            if not any(is_variable(word) for word in (words if name != "loopDataOutputRef" else (child.text,))):
                loop.drop(lambda each, child=child: each is child)  # type: ignore[misc]
                context.report.draw(child, name, NO_VARIABLE, of=node)


def _find_source(context: Context, node: Draft, reference: str) -> str:
    """Return the variable that a data association leads to the data input of an activity."""
    for association in node.own():
        if association.name not in ("dataInputAssociation", "dataOutputAssociation"):
            continue
        ends = [child.text for child in association.own() if child.name in ("sourceRef", "targetRef")]
        if reference in ends:
            other = next((end for end in ends if end != reference), "")
            return _name_data(context, local_name(other))
    return ""


def _name_data(context: Context, reference: str) -> str:
    return next((word for word in (context.names.get(reference, ""), reference) if is_variable(word)), "")


NO_NUMBER = f"It is a number from 1 to {MAX_ROUNDS}: any other has no effect."


def _translate_standard(context: Context, node: Draft, loop: Draft) -> None:
    condition = loop.find("loopCondition")
    if condition is not None and condition.text:
        text = context.translate(condition, condition.text, "loopCondition", of=node)
        if text is None:
            context.report.draw(condition, "loopCondition", CODE, of=node)
        condition.text = text or ""
    maximum = loop.get("loopMaximum")
    is_number = maximum.isascii() and maximum.isdigit() and len(maximum) < 10 and 0 < int(maximum) <= MAX_ROUNDS
    if maximum and not is_number:
        del loop.attributes["loopMaximum"]
        context.report.draw(loop, f"loopMaximum {maximum}", NO_NUMBER, of=node)
    if not loop.get("loopMaximum") and (condition is None or not condition.text):
        loop.attributes["loopMaximum"] = "1"
        context.report.translate(loop, loop.name, "", "one round: nothing says how many", of=node)
