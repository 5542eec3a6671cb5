"""Commands as callers give them: checked, with the ids of tasks as they are known outside."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext

from config.common.errors import Invalid
from processes.workflows.heads import Head
from processes.workflows.ids import local_id
from processes.workflows.services.execution import execute_command
from processes.workflows.services.planning import CommandRequest
from processes.workflows.services.retrying import RetryRequest, retry_incident

RETRY = "retry_incident"
FIELDS: dict[str, tuple[str, ...]] = {
    "complete_task": ("task", "variables"),
    "send_message": ("name", "variables"),
    "set_variables": ("variables",),
    "suspend": (),
    "resume": (),
    "terminate": (),
    RETRY: ("note", "variables", "incident"),
    "migrate": ("revision",),
    "close": (),
    **{
        name: ("item",)
        for name in (
            "start",
            "occur",
            "disable",
            "reenable",
            "suspend_item",
            "resume_item",
            "terminate_item",
            "complete_item",
        )
    },
}
_KINDS: dict[str, type] = {
    "task": str,
    "name": str,
    "item": str,
    "variables": dict,
    "note": str,
    "incident": int,
    "revision": int,
}
_REQUIRED = {"task", "name", "item", "revision"}


def command_instance(
    instance_id: UUID, body: Mapping[str, Any], *, actor: str, at: datetime, expected_version: int | None = None
) -> Head:
    """Carry out a command of a caller; return the instance after it."""
    command = _checked(body)
    if command["command"] == RETRY:
        wanted = RetryRequest(
            actor=actor,
            at=at,
            note=command.get("note", ""),
            variables=command.get("variables", {}),
            incident_id=command.get("incident"),
            expected_version=expected_version,
        )
        return retry_incident(instance_id, wanted)
    named = command.get("task", "")
    for name in ("task", "item"):
        if name in command:
            command[name] = local_id(instance_id, command[name])
    order = CommandRequest(command, actor=actor, at=at, expected_version=expected_version, task_id=named)
    return execute_command(instance_id, order)


def _checked(body: Mapping[str, Any]) -> dict[str, Any]:
    name = body.get("command")
    if not isinstance(name, str) or name not in FIELDS:
        raise Invalid({"command": [gettext("Must be one of %(names)s.") % {"names": ", ".join(FIELDS)}]})
    faults: dict[str, list[str]] = {}
    command: dict[str, Any] = {"command": name}
    for key, value in body.items():
        if key == "command":
            continue
        if key not in FIELDS[name]:
            faults[key] = [gettext("Means nothing to this command.")]
        elif not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            faults[key] = [gettext("Must be of another type.")]
        else:
            command[key] = value
    for key in _REQUIRED.intersection(FIELDS[name]).difference(body):
        faults[key] = [gettext("Is required.")]
    if faults:
        raise Invalid(faults)
    return command
