"""Which revision is called, and under which tag a revision is found: `postern:revision`, `tag`, `versionTag`."""

from processes.workflows.engine.bpmn.extensions import Extensions, read_extensions, read_value
from processes.workflows.engine.bpmn.file import MAX_NAME, Subject
from processes.workflows.engine.definition import RevisionChoice

CHOICES = frozenset({"revision", "tag"})
"""The extensions by which an element chooses; a number counts before a tag."""


def read_revision(subject: Subject, extensions: Extensions) -> RevisionChoice | None:
    """Return which revision an element calls; None: the newest."""
    for name in ("revision", "tag"):
        found = extensions.find(name)
        if found is not None:
            expression = subject.compile(read_value(found), found)
            return None if expression is None else RevisionChoice(expression, is_tag=name == "tag")
    return None


def read_version_tag(subject: Subject) -> str:
    """Return the tag that the author of a process, a case or a decision has given to this version of it."""
    tag = read_extensions(subject, known=frozenset({"versionTag"})).value("versionTag").strip()
    if len(tag) > MAX_NAME:
        subject.refuse(f"The version tag has more than {MAX_NAME} characters.")
    return tag
