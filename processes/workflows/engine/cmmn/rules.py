"""The rules of a plan item: whether it is started by hand, repeated, required."""

from dataclasses import dataclass

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.case_plan import ItemRule
from processes.workflows.engine.cmmn.file import compile_within


@dataclass(frozen=True, slots=True)
class Control:
    manual_activation: ItemRule | None = None
    repetition: ItemRule | None = None
    required: ItemRule | None = None

    def or_else(self, other: "Control") -> "Control":
        """Take from the other what this one does not say."""
        return Control(
            manual_activation=self.manual_activation or other.manual_activation,
            repetition=self.repetition or other.repetition,
            required=self.required or other.required,
        )


def read_control(subject: Subject, name: str) -> Control:
    """Read the rules in the child of that name: `itemControl` or `defaultControl`."""
    control = subject.element.find(name)
    if control is None:
        return Control()
    return Control(
        manual_activation=_read_rule(subject, control, "manualActivationRule"),
        repetition=_read_rule(subject, control, "repetitionRule"),
        required=_read_rule(subject, control, "requiredRule"),
    )


def _read_rule(subject: Subject, control: XmlElement, name: str) -> ItemRule | None:
    rule = control.find(name)
    return ItemRule(compile_within(subject, rule, "condition")) if rule is not None else None
