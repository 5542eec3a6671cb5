import json
import re
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from tests import api_document

SCHEMA, DOCS = "/api/v1/schema/", "/api/v1/docs/"


@pytest.fixture
def document() -> Any:
    return api_document.document()


class TestDocument:
    def test_is_made_without_a_warning(self) -> None:
        GENERATOR_STATS.reset()
        validate_schema(SchemaGenerator().get_schema(public=True))  # type: ignore[no-untyped-call]
        assert [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache] == []

    def test_every_call_says_who_may_and_how_it_fails(self, document: Any) -> None:
        for operations in document["paths"].values():
            for operation in operations.values():
                assert {"key": []} in operation["security"]
                assert operation["responses"]["default"] == {"$ref": "#/components/responses/Refusal"}
        assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
        assert document["components"]["schemas"]["Error"]["required"] == ["code", "message", "data"]

    def test_every_answer_carries_the_correlation_id(self, document: Any) -> None:
        answer = document["paths"]["/api/v1/changes/{change_id}/revert/"]["post"]["responses"]["201"]
        assert list(answer["headers"]) == ["X-Correlation-ID"]

    def test_a_creating_call_takes_an_idempotency_key(self, document: Any) -> None:
        call = document["paths"]["/api/v1/changes/{change_id}/revert/"]["post"]
        assert [field["name"] for field in call["parameters"] if field["in"] == "header"] == ["Idempotency-Key"]


class TestSchemaView:
    @pytest.mark.parametrize(
        ("query", "accept", "is_json"),
        [
            ("", "*/*", False),
            ("?format=json", "*/*", True),
            ("", "application/json", True),
            ("", "application/vnd.oai.openapi+json", True),
            ("?format=yaml", "*/*", False),
        ],
    )
    def test_comes_as_it_is_asked_for(self, client: Client, query: str, accept: str, is_json: bool) -> None:
        answer = client.get(SCHEMA + query, headers={"Accept": accept})
        assert answer.status_code == 200
        assert answer.content.startswith(b"{") is is_json
        assert b"3.1.0" in answer.content[:40]

    def test_its_errors_are_json_too(self, client: Client) -> None:
        answer = client.post(SCHEMA)
        assert (answer.status_code, json.loads(answer.content)["code"]) == (405, "method_not_allowed")


class TestDocsPage:
    def test_loads_nothing_from_elsewhere_and_has_no_script_of_its_own(self, client: Client, settings: Any) -> None:
        plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
        settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
        page = client.get(DOCS).content.decode()
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
        assert len(loaded) == 5
        assert all(address.startswith(("/static/", DOCS)) for address in loaded)
        assert re.findall(r"<script(?![^>]*src=)", page) == []

    def test_its_policy_allows_no_foreign_and_no_inline_script(self, client: Client, settings: Any) -> None:
        policy = client.get(f"{DOCS}?script").headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "http" not in policy
