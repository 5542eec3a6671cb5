"""Scenarios beside a definition: written by its author, played before a new revision is published."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec
from django.db import transaction
from django.utils.translation import gettext

from config.audit.changes import record_change
from config.common.errors import Invalid
from config.common.web.json_codec import BadJson, decode_json
from config.records.models import ChangeRecord
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.scenarios import MOST_STEPS, Played, Scenario, find_uncovered, play_scenario
from processes.workflows.errors import ScenariosFailed
from processes.workflows.models import WorkflowDefinition, WorkflowScenarios
from processes.workflows.services.definitions.library import UnknownDefinition, library_for

MOST_SCENARIOS = 100
LARGEST = 262_144
"""Bytes of all scenarios of a definition."""
LONGEST_SECONDS = 10.0
"""For all scenarios together; the ones that are left then count as failed."""
KIND = "workflow_scenarios"


class WorkError(msgspec.Struct, forbid_unknown_fields=True):
    code: str
    message: str = ""


class Expected(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What holds at this point; what is left out may be anything."""

    status: Literal["active", "completed", "terminated", "suspended", "closed"] | None = None
    path: list[str] | None = None
    passes: list[str] = []
    avoids: list[str] = []
    variables: dict[str, Any] = {}
    tasks: list[str] | None = None


class Step(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that happens, or what is expected by now."""

    complete: str | None = None
    work: str | None = None
    error: WorkError | None = None
    message: str | None = None
    event: str | None = None
    payload: dict[str, Any] | None = None
    wait: str | None = None
    item: str | None = None
    command: str | None = None
    variables: dict[str, Any] | None = None
    expect: Expected | None = None


class Written(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A scenario as its author writes it."""

    name: str
    steps: list[Step]
    variables: dict[str, Any] = {}
    record: str = ""
    start: str | None = None


@dataclass(frozen=True)
class Rehearsal:
    """What came of all scenarios of a definition."""

    played: list[Played]
    uncovered: list[str]
    """Elements that no scenario enters."""

    @property
    def failures(self) -> list[dict[str, str]]:
        return [{"scenario": each.name, "failure": failure} for each in self.played for failure in each.failures]


def parse_scenarios(text: str) -> list[Written]:
    """Read a list of scenarios; raise `Invalid` where it is none, or too much."""
    if len(text.encode()) > LARGEST:
        raise Invalid({"scenarios": [gettext("At most %(most)s bytes.") % {"most": LARGEST}]})
    try:
        found = msgspec.convert(decode_json(text.encode() or b"[]"), list[Written])
    except (BadJson, msgspec.ValidationError) as error:
        raise Invalid({"scenarios": [str(error)[:300]]}) from error
    names = [each.name for each in found]
    if len(found) > MOST_SCENARIOS or any(len(each.steps) > MOST_STEPS for each in found):
        most = {"most": MOST_SCENARIOS, "steps": MOST_STEPS}
        raise Invalid({"scenarios": [gettext("At most %(most)s scenarios of %(steps)s steps each.") % most]})
    if len(set(names)) != len(names) or not all(names):
        raise Invalid({"scenarios": [gettext("Each scenario needs a name of its own.")]})
    return found


def save_scenarios(definition: WorkflowDefinition, text: str, *, actor: str, at: datetime) -> None:
    """Replace the scenarios of a definition; whether they pass is asked when something is published or played."""
    written = parse_scenarios(text)
    with transaction.atomic():
        before = WorkflowScenarios.objects.filter(pk=definition.pk).first()
        values = {"body": text, "actor": actor[:160], "saved_at": at}
        WorkflowScenarios.objects.update_or_create(pk=definition.pk, defaults=values)
        record_change(
            kind=KIND,
            object_id=definition.pk,
            action=ChangeRecord.Action.CREATED if before is None else ChangeRecord.Action.CHANGED,
            before=None if before is None else {"scenarios": [each.name for each in parse_scenarios(before.body)]},
            after={"scenarios": [each.name for each in written]},
            actor=actor,
        )


def rehearse(definition: Definition, enterprise: str | None) -> Rehearsal:
    """Play what is written for the definition's key against this file of it."""
    row = WorkflowScenarios.objects.filter(pk=definition.key).first()
    written = [] if row is None else parse_scenarios(row.body)
    played = _play_all(written, definition, enterprise)
    return Rehearsal(played, find_uncovered(definition, played) if played else [])


def refuse_if_any_fails(definition: Definition, enterprise: str | None) -> None:
    """Raise `ScenariosFailed` if the file does not do what is expected of it."""
    failures = rehearse(definition, enterprise).failures
    if failures:
        raise ScenariosFailed(failures=failures[:MOST_SCENARIOS])


def _play_all(written: Sequence[Written], definition: Definition, enterprise: str | None) -> list[Played]:
    until = time.monotonic() + LONGEST_SECONDS
    played: list[Played] = []
    for each in written:
        if time.monotonic() > until:
            played.append(Played(each.name, ["There was no time left for it."]))
            continue
        steps = [msgspec.to_builtins(step) for step in each.steps]
        # What an author leaves out is not there for the player either.
        steps = [{name: value for name, value in step.items() if value is not None} for step in steps]
        scenario = Scenario(each.name, steps, each.variables, each.record, each.start)
        try:
            played.append(play_scenario(scenario, definition, library_for(enterprise)))
        except UnknownDefinition as unknown:
            played.append(Played(each.name, [f"There is no definition {unknown}."]))
    return played
