"""Which revision of a definition is called, as other engines bind it: by its number, its version tag, or the newest."""

from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.file import MAX_NAME
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.languages.phrases import write_text
from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.dialects.vendors import ZEEBE, add_extension, take_attribute, take_elements

NO_TAG = "No version tag is named; the latest revision is called."
NO_CODE = "The version tag is code; the latest revision is called."
NO_NUMBER = "This is not a revision number; the latest revision is called."
NEWEST = "the latest revision: files are published one at a time"
_CALLED = ("calledElement", "decisionRef", "decision", "process", "case")


def translate_binding(context: Context, node: Draft) -> None:
    """Translate which revision an element calls; nothing is said of it where that is the newest."""
    for called in _CALLED:
        what, kind = take_attribute(node, f"{called}Binding")
        _, number = take_attribute(node, f"{called}Version")
        tag_name, tag = take_attribute(node, f"{called}VersionTag")
        if kind == "version" or (number and not kind):
            _set_number(context, node, what or f"{called}Version", number)
        elif kind == "versionTag" or tag:
            _set_tag(context, node, tag_name or what, tag)
        elif kind == "deployment":
            context.report.translate(node, what, kind, NEWEST)
    for child in node.extensions():
        if child.space == ZEEBE and child.name in ("calledElement", "calledDecision"):
            _translate_zeebe(context, node, child)


def _set_number(context: Context, node: Draft, what: str, written: str) -> None:
    value = context.translate(node, written, what, of=node) if written else None
    if not value or (not value.isdigit() and "{" not in written):
        context.report.draw(node, f"{what} {written}".strip(), NO_NUMBER, of=node)
        return
    add_extension(node, "revision", value)
    if value == written.strip():
        context.report.translate(node, what, written, f"revision {value}")


def _set_tag(context: Context, node: Draft, what: str, written: str) -> None:
    if not written:
        context.report.draw(node, what, NO_TAG)
        return
    is_expression = written.startswith(("${", "#{", "="))
    value = context.translate(node, written, what, of=node) if is_expression else write_text(written).text
    if value is None:
        context.report.draw(node, f"{what} {written}", NO_CODE)
        return
    add_extension(node, "tag", value)
    if not is_expression:
        context.report.translate(node, what, written, f"the newest revision with the tag {written}")


def translate_version_tag(report: Report, element: Draft) -> None:
    """Translate what the author calls this version of a process, a case or a decision."""
    what, tag = take_attribute(element, "versionTag")
    for found in take_elements(element, "versionTag", zeebe=True):
        what, tag = "zeebe:versionTag", found.get("value")
    if what and tag:
        element.attributes[f"{{{POSTERN}}}versionTag"] = tag[:MAX_NAME]
        report.translate(element, what, tag, f"postern:versionTag {tag}")


def _translate_zeebe(context: Context, node: Draft, called: Draft) -> None:
    kind, tag = called.get("bindingType"), called.get("versionTag")
    if kind == "versionTag" or (tag and not kind):
        _set_tag(context, node, "zeebe:versionTag", tag)
    elif kind == "deployment":
        context.report.translate(called, "zeebe:bindingType", kind, NEWEST, of=node)
