"""Rules of plan items: conditions of other engines, and rules that the standard does not have."""

from processes.workflows.engine.cmmn.file import CMMN
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.vendors import DELEGATES, add_extension, take_attribute

_RULES = ("manualActivationRule", "repetitionRule", "requiredRule")
_LISTENERS = frozenset({"timerEventListener", "userEventListener"})
NO_RULE = "An element of this type has no such rule."
CODE_RULE = "The condition is code: the rule holds always."
COUNTED = "The number of an item is not kept in a variable."


def translate_rules(context: Context, model: Draft) -> None:
    """Translate the rules of every item in a case plan."""
    definitions = {each.id: each for each in model.walk() if each.space == CMMN and each.id}
    for element in list(model.walk()):
        if element.space != CMMN:
            continue
        for name in ("itemControl", "defaultControl"):
            for control in list(element.all(name)):
                definition = definitions.get(element.get("definitionRef"), element)
                _translate_control(context, element, definition, control)
                if element is model or definition.name in _LISTENERS:
                    element.drop(lambda child, control=control: child is control)  # type: ignore[misc]


def _translate_control(context: Context, item: Draft, definition: Draft, control: Draft) -> None:
    for rule in list(control.own()):
        if rule.name not in _RULES:
            continue
        _translate_condition(context, item, rule)
        for name in ("counterVariable", "maxInstanceCount", "collectionVariable", "elementVariable", "aggregations"):
            what, _ = take_attribute(rule, name)
            if what:
                context.report.draw(rule, what, COUNTED, of=item)
        is_refused = definition.name in _LISTENERS or (
            definition.name == "milestone" and rule.name == "manualActivationRule"
        )
        repeats_alone = (
            definition.name == "milestone" and rule.name == "repetitionRule" and item.find("entryCriterion") is None
        )
        if is_refused or repeats_alone or definition.name == "casePlanModel":
            control.drop(lambda child, rule=rule: child is rule)  # type: ignore[misc]
            context.report.draw(rule, rule.name, NO_RULE, of=item)
    _translate_completion(context, item, control)


def _translate_condition(context: Context, item: Draft, rule: Draft) -> None:
    condition = rule.find("condition")
    if condition is None:
        return
    body = condition.find("body")
    text = condition.text or (body.text if body is not None else "")
    value = context.translate(condition, text, rule.name, of=item, language=condition.get("language")) if text else ""
    if value is None:
        context.report.draw(condition, rule.name, CODE_RULE, of=item)
    rule.drop(lambda child: child is condition)
    if value:
        rule.add("condition", value)


def _translate_completion(context: Context, item: Draft, control: Draft) -> None:
    """Translate the rule by which an item that only waits does not keep its stage from completing."""
    for holder in control.all("extensionElements"):
        for rule in list(holder.children):
            if rule.space not in DELEGATES or rule.name not in ("completionNeutralRule", "parentCompletionRule"):
                continue
            holder.drop(lambda child, rule=rule: child is rule)  # type: ignore[misc]
            kind = rule.get("type") or "neutral"
            if kind in _NEUTRAL:
                add_extension(item, "neutral", "always" if kind == "ignore" else "waiting")
                context.report.translate(rule, rule.name, kind, "its stage completes without it", of=item)
            elif kind != "default":
                context.report.draw(rule, rule.name, KEEPS, of=item)


KEEPS = "The stage waits for it, unless it has ended."
_NEUTRAL = frozenset({"neutral", "ignore", "ignoreIfAvailable", "ignoreIfAvailableOrEnabled"})
