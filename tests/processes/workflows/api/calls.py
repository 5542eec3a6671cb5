"""A small process, and what a test of the calls needs again and again."""

from typing import Any

from tests.processes.workflows.process_files import chain, user
from tests.sensors.api.callers import Caller

ORDER = chain("order", user("check"), user("ship"))
NOBODY = "00000000-0000-7000-8000-000000000000"


def command(caller: Caller, instance: Any, name: str, **fields: Any) -> Any:
    return caller("POST", f"/workflows/instances/{instance['id']}/commands/", {"command": name, **fields})


def failed(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]
