"""Inputs: what an instance is given, recorded for its shadow in the statement that writes the version it led to."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db.models.functions import Now

from processes.workflows.engine.twin import MOST_ENTERED
from processes.workflows.models import ShadowInput, WorkflowShadow
from processes.workflows.services.steps import CommandRequest

_NOT_COMPARED = ("leave", "cancel")


class HeardInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an instance was given, and what of its answer stands in no other row."""

    command: dict[str, Any]
    at: datetime
    variables: dict[str, Any] = {}
    """Set before the command."""
    path: list[tuple[str, str]] = []
    """The elements that it entered, in order; of a case what happened to its items."""
    failure: tuple[str, str] | None = None
    """The element and the reason, where the command became an incident."""


def encode_input(
    request: CommandRequest, trace: Sequence[tuple[str, str]] = (), failure: tuple[str, str] | None = None
) -> str:
    """Return what the twin of an instance needs to be given the same, and to be compared."""
    heard = HeardInput(
        command=dict(request.command),
        at=request.at,
        variables=dict(request.variables),
        path=select_path(trace),
        failure=failure,
    )
    return msgspec.json.encode(heard).decode()


def decode_input(body: str) -> HeardInput:
    return msgspec.json.decode(body, type=HeardInput)


def select_path(trace: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [step for step in trace if step[0] not in _NOT_COMPARED][:MOST_ENTERED]


def write_input(shadow_id: int, instance_id: UUID, version: int, body: str) -> None:
    """Record an input, if the shadow still hears; on PostgreSQL the statement of a step does it by itself."""
    if WorkflowShadow.objects.filter(pk=shadow_id, hears_until__gt=Now()).exists():
        ShadowInput.objects.create(shadow=shadow_id, instance=instance_id, version=version, body=body)


def describe_effect(effect: Mapping[str, Any]) -> dict[str, Any]:
    """Return an effect as it is compared: without its id, which says only how many there were before it."""
    return {
        "kind": str(effect["kind"]),
        "element": effect["element"],
        "name": effect["name"],
        "inputs": msgspec.json.decode(effect["inputs"]),
    }
