"""Every call is described for whoever makes it: in words, by examples of real calls, with the errors it can have."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from config.api.examples import Example, format_curl
from tests.api_document import document, operations

JSON = "application/json"
ALWAYS = {"400", "401", "403", "429", "503"}


def named() -> list[Any]:
    return [pytest.param(path, operation, id=operation["operationId"]) for _, path, operation in operations()]


def expect_valid(schema: Any, value: Any) -> None:
    """Validate a value by a schema of the document."""
    whole = {**schema, "components": document()["components"]}
    validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)] == []


def resolve(answer: Any) -> Any:
    reference = answer.get("$ref")
    return document()["components"]["responses"][reference.rpartition("/")[2]] if reference else answer


class TestWords:
    def test_every_call_has_a_summary_of_its_own(self) -> None:
        summaries = [operation.get("summary", "") for _, _, operation in operations()]
        assert [each for each in summaries if not each or each.endswith(".") or len(each) > 50] == []
        assert sorted({each for each in summaries if summaries.count(each) > 1}) == []

    def test_every_call_has_a_description_that_says_more_and_who_may_call(self) -> None:
        lacking = []
        for _, _, operation in operations():
            words, _, callers = operation.get("description", "").rpartition("\n\n")
            if len(words) < 20 or words == operation["summary"] or not re.fullmatch(r"Takes .*\.", callers):
                lacking.append(operation["operationId"])
        assert lacking == []

    def test_no_call_is_described_by_the_words_of_another(self) -> None:
        words = [operation["description"] for _, _, operation in operations()]
        assert {each for each in words if words.count(each) > 1} == set()

    def test_every_call_has_one_tag_that_is_described(self) -> None:
        described = {tag["name"]: tag["description"] for tag in document()["tags"]}
        incoming = [operation for _, _, operation in operations()]
        outgoing = [webhook["post"] for webhook in document()["webhooks"].values()]
        assert {tag for operation in incoming + outgoing for tag in operation["tags"]} == described.keys()
        assert all(len(operation["tags"]) == 1 for operation in incoming + outgoing)


class TestExamples:
    @pytest.mark.parametrize(("path", "operation"), named())
    def test_every_call_shows_a_request_and_an_answer_that_fit_the_schema(self, path: str, operation: Any) -> None:
        assert operation["x-codeSamples"][0]["source"].startswith("curl ")
        parts = [operation.get("requestBody", {}), *map(resolve, operation["responses"].values())]
        for part in parts:
            for content in part.get("content", {}).values():
                for example in content.get("examples", {}).values():
                    expect_valid(content["schema"], example["value"])
        body = operation.get("requestBody", {}).get("content", {})
        assert not body or any("examples" in content for content in body.values())
        answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        shown = [content for answer in answers for content in answer.get("content", {}).values()]
        assert not shown or any("examples" in content for content in shown)

    @pytest.mark.parametrize(("path", "operation"), named())
    def test_what_stands_in_the_path_is_shown(self, path: str, operation: Any) -> None:
        parameters = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert parameters.keys() == set(re.findall(r"{(\w+)}", path))
        for parameter in parameters.values():
            expect_valid(parameter["schema"], parameter["example"])


class TestCurl:
    def test_a_read(self) -> None:
        example = Example(title="x", method="GET", path="/api/v1/sensors/?state=1", status=200)
        assert format_curl(example) == (
            "curl -H \"Authorization: Bearer $KEY\" \\\n     'http://127.0.0.1:8000/api/v1/sensors/?state=1'"
        )

    def test_a_body_and_a_method(self) -> None:
        example = Example(title="x", method="PATCH", path="/a/", body={"name": "the men's door"}, status=200)
        lines = format_curl(example).split(" \\\n     ")
        assert lines == [
            'curl -X PATCH -H "Authorization: Bearer $KEY"',
            "-H 'Content-Type: application/json'",
            """--data-binary '{"name":"the men'"'"'s door"}'""",
            "http://127.0.0.1:8000/a/",
        ]

    def test_a_post_without_a_body_says_its_method(self) -> None:
        assert format_curl(Example(title="x", method="POST", path="/a/", status=200)).startswith("curl -X POST ")


class TestErrors:
    def test_every_call_has_those_that_any_call_can_have(self) -> None:
        assert [each["operationId"] for _, _, each in operations() if not each["responses"].keys() >= ALWAYS] == []

    def test_a_call_about_something_says_that_it_may_not_be_there(self) -> None:
        about = [(path, each) for _, path, each in operations() if "{" in path and "/trace/" not in path]
        assert [path for path, operation in about if "404" not in operation["responses"]] == []

    def test_every_error_has_its_body(self) -> None:
        for _, _, operation in operations():
            for status, found in operation["responses"].items():
                answer = resolve(found)
                if status.startswith(("4", "5")):
                    assert answer["content"][JSON]["schema"] == {"$ref": "#/components/schemas/Error"}
                    examples = answer["content"][JSON]["examples"]
                    assert examples
                    assert {code: each["value"]["code"] for code, each in examples.items()} == {
                        code: code for code in examples
                    }
                    assert all(code in answer["description"] and each["summary"] for code, each in examples.items())


class TestWebhooks:
    NAMES = {
        "sensor.state_changed",
        "sensor.connection_lost",
        "sensor.connection_restored",
        "sensor.connections_lost",
        "sensor.connections_restored",
        "sensor.left_open",
        "sensor.loss_withdrawn",
        "ping",
        "session.repeat",
        "workflow.message",
    }

    def test_every_body_that_goes_out_is_there(self) -> None:
        assert document()["webhooks"].keys() >= self.NAMES

    @pytest.mark.parametrize(("name", "webhook"), document()["webhooks"].items())
    def test_it_is_described_and_shows_a_body_that_fits(self, name: str, webhook: Any) -> None:
        operation = webhook["post"]
        assert operation["summary"]
        assert len(operation["description"]) > 20
        headers = [each["name"] for each in operation["parameters"]]
        assert headers == ["webhook-id", "webhook-timestamp", "webhook-signature", "X-Correlation-ID"]
        content = operation["requestBody"]["content"][JSON]
        examples = content["examples"].values()
        for example in examples:
            assert example["value"].get("type", name) == name
            expect_valid(content["schema"], example["value"])
        assert examples
