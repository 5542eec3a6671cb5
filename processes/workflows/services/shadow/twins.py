"""A twin: the inputs of an instance run by the shadow's revision in the pure engine. Nothing is written here.

A twin is a state and nothing else. Real instances with their effects held back would need a guard at every place from
which something leaves (tasks, external work, timers, subscriptions, effects, the outbox, mails), and one that is
forgotten would send. What is never written cannot leave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
import structlog
from django.db import DatabaseError

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.runner import InstanceState
from processes.workflows.engine.twin import (
    NOT_FOLLOWED,
    Answer,
    Difference,
    NoCounterpart,
    compare_answers,
    find_own_timer,
    find_place,
    list_open,
    translate_command,
)
from processes.workflows.errors import InstanceNotFound, VersionNotFound
from processes.workflows.heads import Head
from processes.workflows.models import ShadowInput, ShadowTwin, WorkflowEffect, WorkflowShadow
from processes.workflows.models.instance import ENDED
from processes.workflows.selectors import get_version
from processes.workflows.services.commands import run_engine
from processes.workflows.services.definitions.library import Library, library_for
from processes.workflows.services.plan_step import plan_step
from processes.workflows.services.shadow.inputs import (
    HeardInput,
    decode_input,
    describe_effect,
    select_path,
)
from processes.workflows.services.steps import CommandRequest

LARGEST_STATE = 262_144
"""Bytes of JSON: a twin whose state grows larger is not followed any further."""
MOST_FIRED = 20
"""Timers of its own that a twin fires before one input; what else is due follows with the next."""
MOST_REPORTED = 20
"""Differences of one twin, after which it is not followed any further."""

log = structlog.get_logger(__name__)


class End(Enum):
    """Why a twin is not followed any further."""

    ENDED = "its instance has ended"
    PARTED = "it cannot be given what its instance is given"
    LOST = "something of its instance is missing"


@dataclass(frozen=True)
class Found:
    """A difference, and where the instance was."""

    difference: Difference
    version: int
    at: datetime
    is_first: bool


@dataclass
class Progress:
    """Where a twin stands after some inputs, and what was found on the way."""

    version: int
    state: InstanceState | None
    reported: list[list[str]]
    found: list[Found] = field(default_factory=list)
    steps: int = 0
    heard_at: datetime | None = None
    end: End | None = None
    text: str = ""
    """The state as JSON."""


def begin_or_resume(twin: ShadowTwin | None) -> Progress:
    if twin is None:
        return Progress(0, None, [])
    state = msgspec.json.decode(twin.state) if twin.state else None
    return Progress(twin.version, state, [list(each) for each in twin.reported], text=twin.state)


def follow_instance(
    shadow: WorkflowShadow, instance_id: UUID, twin: ShadowTwin | None, rows: Sequence[ShadowInput]
) -> Progress:
    """Give the twin of an instance these inputs, one after the other, until there are no more or it must end."""
    progress = begin_or_resume(twin)
    follower = _Follower(shadow, instance_id, progress)
    for row in rows:
        if progress.end is not None:
            break
        heard = decode_input(row.body)
        if progress.version + (heard.failure is None or not progress.version) != row.version:
            progress.end = End.LOST  # what lies between was not recorded, or this was heard before
            break
        try:
            follower.apply_input(heard, row.version)
        except (InstanceNotFound, VersionNotFound):
            progress.end = End.LOST  # deleted meanwhile
        progress.version, progress.heard_at = row.version, heard.at
    return progress


class _Follower:
    def __init__(self, shadow: WorkflowShadow, instance_id: UUID, progress: Progress) -> None:
        self._shadow = shadow
        self._instance_id = instance_id
        self._progress = progress
        self._live: tuple[int, InstanceState | None] | None = None
        """The version that was read last: the next input begins there."""

    def apply_input(self, heard: HeardInput, version: int) -> None:
        """Give one input to the twin and compare what it makes of it with what its instance has made of it."""
        progress = self._progress
        if heard.command["command"] in NOT_FOLLOWED:
            progress.end = End.LOST
            return
        live = self._read_live(heard, version)
        progress.steps += 1
        try:
            self._fire_own_timers(live.before, version, heard.at)
            twin = self._run(heard, translate_command(heard.command, live.before, progress.state))
            differences = compare_answers(live, twin)
            self._store_state(twin.after)
        except (NoCounterpart, CommandRejected) as refusal:
            self._part("counterpart", heard, live, version, getattr(refusal, "reason", ""))
            return
        except DatabaseError:
            raise
        except Exception as error:
            # Whatever is wrong with the shadow's revision, or with us, ends this twin and nothing else.
            log.exception("workflows.shadow_failed", instance=str(self._instance_id), version=version)
            self._part("error", heard, live, version, f"{type(error).__name__}: {error}")
            return
        for difference in differences:
            self._report(difference, version, heard.at)
        if progress.end is None and live.after is not None and live.after["status"] in ENDED:
            progress.end = End.ENDED

    def _fire_own_timers(self, live: InstanceState | None, version: int, at: datetime) -> None:
        """Fire what was due before the input at elements where the instance has no timer: nothing else would."""
        for _ in range(MOST_FIRED):
            timer = find_own_timer(live, self._progress.state, at)
            if timer is None:
                break
            key, due = timer
            fired = HeardInput({"command": "fire_timer", "timer": key}, due)
            twin = self._run(fired, fired.command)
            for difference in compare_answers(Answer(live, live), twin):
                self._report(difference, version, due)
            self._store_state(twin.after)
            if twin.failure is not None:
                break

    def _run(self, heard: HeardInput, command: Mapping[str, Any]) -> Answer:
        """Run a command by the shadow's revision, and plan what would follow from it, as for an instance."""
        state, command = self._progress.state, dict(command)
        if command["command"] == "start" and "item" not in command:
            command["definition"] = [self._shadow.definition_id, self._shadow.revision.number]
        request = CommandRequest(command, actor="", at=heard.at, variables=heard.variables)
        head = self._build_head(heard)
        try:
            outcome = run_engine(head, request, _library_of(self._shadow))
            # Planned, for that may fail too; and not written.
            step = plan_step(head, request, outcome)
        except CommandFailed as failure:
            return Answer(state, state, failure=(failure.element, failure.reason))
        effects = [describe_effect(effect) for effect in step.effects]
        return Answer(state, outcome.state, select_path(outcome.trace), effects)

    def _build_head(self, heard: HeardInput) -> Head:
        state = self._progress.state
        return Head(
            id=self._instance_id,
            definition=self._shadow.definition_id,
            revision_id=self._shadow.revision_id,
            revision=self._shadow.revision.number,
            record=str(heard.command.get("record") or (state or {}).get("record") or ""),
            status="active",
            number=self._progress.version,
            epoch=0,
            open_incidents=0,
            started_at=heard.at,
            ended_at=None,
            enterprise=self._shadow.definition.enterprise_id,
            at=heard.at,
            state_status=state["status"] if state else "active",
            state=state,
        )

    def _read_live(self, heard: HeardInput, version: int) -> Answer:
        """Read what the instance has made of the input: its versions before and after it, and its effects."""
        if heard.failure is not None:
            before = self._read_state(version)
            return Answer(before, before, failure=heard.failure)
        before = self._read_state(version - 1) if version > 1 else None
        effects = WorkflowEffect.objects.filter(instance=self._instance_id, version=version)
        described = [describe_effect(each) for each in effects.values("kind", "element", "name", "inputs")]
        return Answer(before, self._read_state(version), heard.path, described)

    def _read_state(self, version: int) -> InstanceState | None:
        if self._live is None or self._live[0] != version:
            self._live = version, get_version(self._instance_id, version).state
        return self._live[1]

    def _part(self, kind: str, heard: HeardInput, live: Answer, version: int, reason: str) -> None:
        """Report that the twin could not be given the input at all; it cannot be followed any further."""
        given = {"command": heard.command["command"], "waited_at": list_open(live.before)}
        withheld = {"reason": reason, "waits_at": list_open(self._progress.state)}
        place = find_place(heard.command, live.before)
        self._report(Difference(kind, place, given, withheld), version, heard.at)
        self._progress.end = End.PARTED

    def _report(self, difference: Difference, version: int, at: datetime) -> None:
        progress = self._progress
        key = [difference.kind, difference.place]
        if key in progress.reported:
            return  # what has parted once stays so
        progress.found.append(Found(difference, version, at, is_first=not progress.reported))
        progress.reported.append(key)
        if len(progress.reported) >= MOST_REPORTED:
            progress.end = End.PARTED

    def _store_state(self, state: InstanceState | None) -> None:
        self._progress.state = state
        self._progress.text = "" if state is None else msgspec.json.encode(state).decode()
        if len(self._progress.text) > LARGEST_STATE and self._progress.end is None:
            self._progress.end = End.LOST


def _library_of(shadow: WorkflowShadow) -> Library:
    """Return the look-up of definitions in which the shadow's revision is the newest of its own."""
    others = library_for(shadow.definition.enterprise_id)

    def find(key: str, revision: int | str | None) -> tuple[Definition, int]:
        return others(key, shadow.revision.number if (key, revision) == (shadow.definition_id, None) else revision)

    return find
