from typing import Any

import pytest

from tests.processes.workflows.api.calls import ORDER
from tests.sensors.api.callers import Caller, service


@pytest.fixture
def caller() -> Caller:
    return service("workflows:read", "workflows:write")


@pytest.fixture
def begin(caller: Caller) -> Any:
    """Publish a file and start an instance of it; return what that answers."""

    def make(source: bytes = ORDER, **body: Any) -> Any:
        key = caller("POST", "/workflows/definitions/", {"source": source.decode()}).json()["key"]
        answer = caller("POST", "/workflows/instances/", {"definition": key, **body})
        assert answer.status_code == 201, answer.content
        return answer.json()

    return make
