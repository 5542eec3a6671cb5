"""Call by call: what any call can be refused with is refused with the body that the document shows."""

from typing import Any

import pytest
from django.test import Client

from tests.api_document import operations
from tests.config.api.test_description import JSON, resolve
from tests.config.api.test_strictness import Callers, fill
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def shown(operation: Any, status: int) -> dict[str, Any]:
    """Return the bodies that the document shows for a status, by code."""
    answer = resolve(operation["responses"][str(status)])
    return {code: each["value"] for code, each in answer["content"][JSON]["examples"].items()}


def test_without_a_key_it_is_401() -> None:
    for method, path, operation in operations():
        answer = Caller(None)(method, fill(path.removeprefix("/api/v1")))
        assert answer.status_code == 401
        assert answer.json() == shown(operation, 401)["unauthorized"], operation["operationId"]


def test_with_a_key_of_another_scope_or_kind_it_is_403() -> None:
    """The scope and the kinds that lack are those of the example."""
    other = service("signals:write"), service("sessions")
    for method, path, operation in operations():
        if path == "/api/v1/explain/":  # each question has a scope of its own
            continue
        answers = [call(method, fill(path.removeprefix("/api/v1"))) for call in other]
        refused = [answer.json() for answer in answers if answer.status_code == 403]
        assert shown(operation, 403)["forbidden"] in refused, operation["operationId"]


def test_what_is_not_there_is_404() -> None:
    call = Callers()
    for method, path, operation in operations():
        if "404" in operation["responses"]:
            body: Any = None if method in ("GET", "DELETE", "PUT") else {}
            answer = call(method, fill(path.removeprefix("/api/v1")), body)
            if answer.status_code == 404:  # else it was refused for its body, which is looked at first
                assert answer.json()["code"] in shown(operation, 404), operation["operationId"]


def test_a_body_that_is_no_json_is_400_and_one_of_another_type_415() -> None:
    callers = Callers()
    for method, path, operation in operations():
        body = operation.get("requestBody", {}).get("content", {})
        for text, media_type, status in (("{", JSON, 400), ("x", "text/plain", 415)):
            if JSON in body and (status == 400 or "415" in operation["responses"]):
                answers = [
                    Client().generic(
                        method,
                        f"/api/v1{fill(path.removeprefix('/api/v1'))}",
                        text,
                        content_type=media_type,
                        headers={"Authorization": f"Bearer {key}"},
                    )
                    for key in callers.keys
                ]
                answer: Any = next(each for each in answers if each.status_code != 403)
                if answer.status_code == 404:  # a few look first whether the row is there
                    continue
                assert answer.status_code == status, (operation["operationId"], answer.content)
                assert answer.json()["code"] in shown(operation, status), operation["operationId"]
