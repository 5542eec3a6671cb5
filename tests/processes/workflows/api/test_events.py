"""The call that sends an event, as the contract has it."""

from typing import Any

import pytest

from tests.processes.workflows.api.calls import failed
from tests.processes.workflows.process_files import chain, message, named
from tests.processes.workflows.services.events.follower.test_follower import follow
from tests.sensors.api.callers import Caller

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestEvents:
    def test_is_taken_once_under_its_id(self, caller: Caller) -> None:
        body = {"type": "custom.paid", "id": "p-1", "payload": {"sum": 3}}
        answers = [caller("POST", "/workflows/events/", body) for _ in range(2)]
        assert [(answer.status_code, answer.json()) for answer in answers] == [(202, {"id": "p-1"})] * 2

    @pytest.mark.parametrize("name", ["Order placed", "Заказ оплачен", "Zahlung (übrig), 2 %", "a\nb", "x" * 73])
    def test_any_name_that_a_file_gives_is_reached(self, caller: Caller, begin: Any, name: str) -> None:
        said = name.replace("\n", "&#10;")
        instance = begin(chain("p", message("m"), before=named(said)))
        answer = caller("POST", "/workflows/events/", {"type": f"custom.{name}", "payload": {}})
        assert answer.status_code == 202
        follow()
        assert caller("GET", f"/workflows/instances/{instance['id']}/").json()["status"] == "completed"

    @pytest.mark.parametrize("kind", ["sensor.lost", "custom.", "custom. ", "custom", "paid", "custom." + "x" * 74, 5])
    def test_other_types_are_refused(self, caller: Caller, kind: Any) -> None:
        answer = caller("POST", "/workflows/events/", {"type": kind, "payload": {}})
        assert failed(answer) == (400, "invalid")

    def test_an_id_is_given_to_one_without(self, caller: Caller) -> None:
        answer = caller("POST", "/workflows/events/", {"type": "custom.paid", "record": "r", "payload": None})
        assert answer.status_code == 202
        assert answer.json()["id"]
