"""Which revision of a definition is called, as other engines bind it: `postern:revision`, or the newest."""

from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.vendors import ZEEBE, add_extension, take_attribute

NO_TAG = "Version tags are not supported; the latest revision is called."
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
            context.report.draw(node, f"{tag_name or what} {tag}".strip(), NO_TAG, of=node)
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


def _translate_zeebe(context: Context, node: Draft, called: Draft) -> None:
    kind, tag = called.get("bindingType"), called.get("versionTag")
    if kind == "versionTag" or tag:
        context.report.draw(called, f"zeebe:versionTag {tag}", NO_TAG, of=node)
    elif kind == "deployment":
        context.report.translate(called, "zeebe:bindingType", kind, NEWEST, of=node)
