"""Publish a file as numbered revisions of its definitions; what cannot be run is refused with every problem in it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext

from config.audit.changes import record_change
from config.common.errors import Invalid
from config.records.models import ChangeRecord
from messaging.models import Enterprise
from processes.workflows.engine.definition import Definition, NodeKind, Trigger
from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.form_files import FormFile, embed_forms
from processes.workflows.engine.lint import Finding, find_untried_starts, lint_definitions
from processes.workflows.engine.parser import FileIdentity, ParsedFile, identify_file, parse_file
from processes.workflows.engine.problems import InvalidDefinition, Problem
from processes.workflows.errors import KeyTaken, KindDiffers, NotExecutable, PublishedBefore, RevisionConflict
from processes.workflows.models import EventElement, WorkflowDefinition, WorkflowRevision, WorkflowShadow
from processes.workflows.services.definitions.library import find_newest, get_compiled
from processes.workflows.services.definitions.scenarios import refuse_if_any_fails
from processes.workflows.services.shadow.begin import begin_shadow
from processes.workflows.services.timers import replace_start_timers

CATCHING = {NodeKind.START, NodeKind.CATCH, NodeKind.BOUNDARY, NodeKind.RECEIVE_TASK}
KIND = "workflow"
MAX_STORED = 10_000_000
"""Bytes that one file may take with all its definitions: each of them has a copy."""


@dataclass(frozen=True)
class Published:
    """The first definition of a file; the others are in `definitions`, which begins with this one."""

    key: str
    revision: int
    kind: str
    is_new: bool
    is_executable: bool = True
    """Whether instances can start with it."""
    is_shadow: bool = False
    """Whether it is on trial beside the current revision."""
    definitions: tuple["Published", ...] = field(default=(), compare=False)
    report: Report = field(default_factory=Report, compare=False)
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    """Why it cannot be run, of a drawing."""
    warnings: tuple[Finding, ...] = field(default=(), compare=False)
    """What may be wrong with the file although it can run."""


def publish_definition(
    *,
    source: bytes,
    enterprise: str | None,
    actor: str,
    at: datetime,
    strict: bool = False,
    drawing: bool = False,
    expected: tuple[str, int] | None = None,
    forms: Sequence[FormFile] = (),
    shadow: bool = False,
) -> Published:
    """Publish each definition of a file as its next revision; the same bytes again return the revision they have.

    The `forms` that its tasks refer to become a part of the file.
    `strict` refuses a file of which something has no effect here; `drawing` keeps one that cannot be run, to look at.
    `expected` names a definition and the revision that the file was made from (0: none): one that has been published
    since is not overwritten. `shadow` lets the current revision start instances as before, and tries the new one beside
    it (`services/shadow`).
    """
    try:
        source = embed_forms(source, forms)
        parsed = parse_file(source)
        if len(parsed.definitions) * len(source) > MAX_STORED:
            message = f"The file is stored with each of its definitions, {MAX_STORED:,} bytes in all: divide it."
            raise InvalidDefinition((Problem("", 0, message),))
    except InvalidDefinition as error:
        if not drawing:
            raise NotExecutable(problems=list_problems(error.problems)) from error
        return _keep_drawing(source, enterprise, error.problems, actor=actor)
    if strict:
        _refuse_without_effect(parsed)
    _check_enterprise(enterprise)
    # Before the transaction: on SQLite nobody else would write while they are played.
    _play_scenarios(parsed, source, enterprise)
    with transaction.atomic():
        # In the order of their keys, so that two files with the same definitions do not wait for each other.
        stored = {
            definition.key: _publish(
                definition, source, enterprise, actor=actor, at=at, expected=expected, shadow=shadow
            )
            for definition in sorted(parsed.definitions, key=lambda definition: definition.key)
        }
    found = tuple(stored[definition.key] for definition in parsed.definitions)
    first = found[0]
    is_new = any(each.is_new for each in found)
    return Published(
        first.key,
        first.revision,
        first.kind,
        is_new,
        is_executable=first.is_executable,
        is_shadow=first.is_shadow,
        definitions=found,
        report=parsed.report,
        warnings=(*_find_untried_starts(parsed, stored), *lint_definitions(parsed.definitions, at=at)),
    )


def _find_untried_starts(parsed: ParsedFile, stored: Mapping[str, Published]) -> Iterator[Finding]:
    """Yield where instances of a revision on trial would begin, and its twins do not: these begin with an instance."""
    for definition in parsed.definitions:
        newest = find_newest(definition.key) if stored[definition.key].is_shadow else None
        if newest is not None:
            yield from find_untried_starts(definition, get_compiled(definition.key, newest[0]))


def list_problems(problems: Sequence[Problem]) -> list[dict[str, object]]:
    """Return problems as the API shows them."""
    return [
        {"element": each.element, "line": each.line, "message": each.message, "name": each.name} for each in problems
    ]


def _refuse_without_effect(parsed: ParsedFile) -> None:
    found = [entry for entry in parsed.report.drawn if not entry.is_picture]
    problems = [Problem(entry.element, entry.line, f"{entry.what}: {entry.why}") for entry in found[:100]]
    if problems:
        raise NotExecutable(problems=list_problems(problems))


def _play_scenarios(parsed: ParsedFile, source: bytes, enterprise: str | None) -> None:
    """Refuse a file that does not do what is expected of it; one that was published before is not asked again."""
    digest = hashlib.sha256(source).hexdigest()
    keys = [definition.key for definition in parsed.definitions]
    known = WorkflowRevision.objects.filter(definition__in=keys, digest=digest, is_executable=True)
    published = set(known.values_list("definition_id", flat=True))
    for definition in parsed.definitions:
        if definition.key not in published:
            refuse_if_any_fails(definition, enterprise)


def _check_enterprise(enterprise: str | None) -> None:
    if enterprise is not None and not Enterprise.objects.filter(pk=enterprise, active=True).exists():
        raise Invalid({"enterprise": [gettext("Must be an active enterprise.")]})


def _publish(
    definition: Definition,
    source: bytes,
    enterprise: str | None,
    *,
    actor: str,
    at: datetime,
    expected: tuple[str, int] | None = None,
    shadow: bool = False,
) -> Published:
    row = _lock_definition(FileIdentity(definition.key, definition.name, definition.kind), enterprise)
    if expected is not None and expected[0] == row.key and expected[1] != row.newest:
        raise RevisionConflict(revision=row.newest)
    digest = hashlib.sha256(source).hexdigest()
    known = row.revisions.filter(digest=digest).first()
    if known is not None and known.is_executable:
        if shadow:
            raise PublishedBefore(revision=known.number)
        return Published(row.key, known.number, row.kind, is_new=False)
    if shadow:
        # No instance starts with it, nor moves to it, before it is promoted.
        tag = definition.version_tag
        revision = known or _store(row, source, digest, actor=actor, is_executable=False, version_tag=tag)
        is_new = begin_shadow(row, revision, definition, actor=actor, at=at)
        return Published(row.key, revision.number, row.kind, is_new, is_executable=False, is_shadow=True)
    revision = known or _store(row, source, digest, actor=actor, version_tag=definition.version_tag)
    make_current(row, revision, definition, actor=actor, at=at)
    return Published(row.key, revision.number, row.kind, is_new=True)


def make_current(
    row: WorkflowDefinition, revision: WorkflowRevision, definition: Definition, *, actor: str, at: datetime
) -> None:
    """Let new instances of a locked definition start with a revision; if it was on trial, the trial is over."""
    if not revision.is_executable:
        # A shadow, or kept as a drawing by the rules of an earlier release. It counts as published from now on: an
        # event that was recorded before starts nothing by it, as it may have started something by the one before.
        WorkflowRevision.objects.filter(pk=revision.pk).update(is_executable=True, created_at=Now())
    _make_newest(row, revision, definition, actor=actor, at=at)
    WorkflowShadow.objects.filter(revision=revision).delete()


def _keep_drawing(source: bytes, enterprise: str | None, problems: tuple[Problem, ...], *, actor: str) -> Published:
    """Keep a file to look at; the revision that instances start with stays as it is, where there is one."""
    identity = identify_file(source)
    if identity is None:
        raise NotExecutable(problems=list_problems(problems))
    _check_enterprise(enterprise)
    digest = hashlib.sha256(source).hexdigest()
    with transaction.atomic():
        row = _lock_definition(identity, enterprise)
        known = row.revisions.filter(digest=digest).first()
        revision = known or _store(row, source, digest, actor=actor, is_executable=False)
        if not row.revisions.filter(is_executable=True).exists():
            row.newest, row.name, row.kind = revision.number, identity.name[:200], identity.kind
            row.save(update_fields=["newest", "name", "kind"])
    drawing = Published(row.key, revision.number, identity.kind, is_new=known is None, is_executable=False)
    return Published(
        drawing.key,
        drawing.revision,
        drawing.kind,
        drawing.is_new,
        is_executable=False,
        definitions=(drawing,),
        problems=problems,
    )


def _store(
    row: WorkflowDefinition,
    source: bytes,
    digest: str,
    *,
    actor: str,
    is_executable: bool = True,
    version_tag: str = "",
) -> WorkflowRevision:
    last = row.revisions.aggregate(last=Max("number"))["last"] or 0
    return WorkflowRevision.objects.create(
        definition=row,
        number=last + 1,
        source=source,
        digest=digest,
        actor=actor[:160],
        is_executable=is_executable,
        version_tag=version_tag,
    )


def _lock_definition(identity: FileIdentity, enterprise: str | None) -> WorkflowDefinition:
    """Lock the row of a definition, creating it if it is new."""
    # Inserted first, so that of two that publish a new definition at once one waits for the other.
    fresh = WorkflowDefinition(key=identity.key, enterprise_id=enterprise, kind=identity.kind)
    WorkflowDefinition.objects.bulk_create([fresh], ignore_conflicts=True)
    row = WorkflowDefinition.objects.select_for_update(no_key=True).get(pk=identity.key)
    if row.enterprise_id != enterprise:
        raise KeyTaken
    if (row.kind == WorkflowDefinition.Kind.DMN) != (identity.kind == WorkflowDefinition.Kind.DMN):
        raise KindDiffers(key=row.key)
    return row


def _make_newest(
    row: WorkflowDefinition, revision: WorkflowRevision, definition: Definition, *, actor: str, at: datetime
) -> None:
    """Let new instances start with this revision, by events and timers too."""
    before = {"revision": row.newest, "name": row.name} if row.newest else None
    row.newest, row.name, row.kind = revision.number, definition.name[:200], definition.kind
    row.save(update_fields=["newest", "name", "kind"])
    EventElement.objects.filter(revision__definition=row, is_start=True).update(is_start=False)
    EventElement.objects.bulk_create(_event_elements(revision, definition))
    replace_start_timers(revision, definition, at=at)
    record_change(
        kind=KIND,
        object_id=row.key,
        action=ChangeRecord.Action.CREATED if before is None else ChangeRecord.Action.CHANGED,
        before=before,
        after={"revision": row.newest, "name": row.name, "enterprise": row.enterprise_id},
        actor=actor,
    )


def _event_elements(revision: WorkflowRevision, definition: Definition) -> Iterator[EventElement]:
    for node in definition.nodes.values():
        if node.event is not None and node.kind in CATCHING and node.event.trigger in (Trigger.MESSAGE, Trigger.SIGNAL):
            yield EventElement(
                revision=revision,
                element=node.id,
                name=node.event.name[:200],
                is_start=node.kind == NodeKind.START and definition.scopes[node.scope].parent is None,
                has_correlation=node.event.correlation is not None,
            )
