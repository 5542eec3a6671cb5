"""Bring a scene to the ends that pages and operators meet."""

from processes.exchange.models import ExchangeProcess
from processes.exchange.services.timeouts import time_out_once
from tests.processes.exchange.scene import Scene, move_files


def put_into_error(scene: Scene, id: str = "m1") -> None:
    """Let the ERP find a message incorrect, and commit."""
    scene.step(scene.ready("PROCESSED_INCORRECT", id=id), "commit")
    move_files()


def put_in_doubt(scene: Scene, result: str = "PROCESSED", id: str = "m1") -> str:
    """Let the ERP prepare a message and fall silent; return the process."""
    process = scene.ready(result, id=id)
    ExchangeProcess.objects.filter(pk=process).update(due_at="2020-01-01T00:00:00Z")
    time_out_once()
    move_files()
    return process
