import pytest

from sensors.models import Client
from tests.sensors.api.callers import Caller, service
from tests.sensors.explanation.questions import SCOPES


@pytest.fixture
def desk() -> Caller:
    return service(*SCOPES)


@pytest.fixture
def client(desk: Caller) -> Client:
    """A client that is linked with sensor 0xA, both registered over REST."""
    made = desk("POST", "/clients/", {"name": "Acme", "url": "https://acme.example/hook"}).json()
    desk("POST", "/sensors/", {"id": "0xA", "address": "1 Gate Street", "clients": [made["id"]]})
    return Client.objects.get(pk=made["id"])
