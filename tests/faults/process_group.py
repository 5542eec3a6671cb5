"""Named processes of one installation, each started, stopped and killed by itself, on a database of their own."""

import pickle
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.forkserver import ForkedProcess
from tests.faults.product import Product


class ProcessGroup:
    """Schedulers, consumers and the like, forked from one loaded product; their logs lie beside each other."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.database = variables["DATABASE_URL"]
        self.product = Product(folder, **{"INGEST_BATCH": "200", **variables})
        self.processes: dict[str, ForkedProcess] = {}

    def start(self, name: str, command: str) -> None:
        self.processes[name] = self.product.fork(command, log=self.product.folder / f"{name}.log")

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def stop(self, name: str) -> None:
        """End it gently."""
        self.processes[name].send_signal(signal.SIGTERM)
        assert self.processes[name].wait(60) == 0, self.logs()

    def end(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        self.product.close()

    def call(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a function inside the product; a file brings the arguments, which a command line might not hold."""
        file = self.product.folder / "arguments"
        file.write_bytes(pickle.dumps(arguments))
        load = f"import pickle, pathlib; arguments = pickle.loads(pathlib.Path({str(file)!r}).read_bytes())"
        call = f"from {function.__module__} import {function.__name__} as function; function(*arguments)"
        self.product.run("shell", "--no-imports", "-c", f"{load}; {call}")

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(statement).fetchall()

    def register(self, sensor_ids: list[str], *, timeout: int = 3600) -> None:
        with psycopg.connect(self.database) as connection:
            connection.execute(
                "INSERT INTO sensors_sensor (id, address, notes, active, heartbeat_timeout) "
                "SELECT id, 'x', '', true, %s FROM unnest(%s::text[]) AS id",
                [timeout, sensor_ids],
            )
            connection.execute("INSERT INTO sensors_sensorstate (sensor_id, last_id) SELECT id, '' FROM sensors_sensor")

    def logs(self) -> str:
        return "\n".join(log.read_text()[-1500:] for log in self.product.folder.glob("*.log"))
