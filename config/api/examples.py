"""Examples of the OpenAPI document: calls that were made, as the tests recorded them beside the views they show.

`python -m tests.record_examples` records them anew; the tests make the same calls and compare.
"""

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

FILE = "examples.json"
JSON = "application/json"
SERVER = "http://127.0.0.1:8000"


class Example(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A call and its answer."""

    title: str
    method: str
    path: str
    """With its query, without the server."""
    body: Any = None
    """JSON, or the text of another media type."""
    media_type: str = JSON
    status: int
    answer: Any = None
    answer_type: str = JSON

    @property
    def name(self) -> str:
        """The key of the example in the document."""
        return "-".join("".join(each if each.isalnum() else " " for each in self.title.lower()).split())


@cache
def load_examples(package: str) -> Mapping[str, Sequence[Example]]:
    """Return the examples that lie in a package of views, by operation id."""
    file = files(package) / FILE
    return msgspec.json.decode(file.read_bytes(), type=dict[str, list[Example]]) if file.is_file() else {}


def add_examples(operation: dict[str, Any], examples: Sequence[Example], template: str) -> None:
    """Put examples into an operation: into its parameters, its body, its answers, and as a line for the shell."""
    for example in examples:
        _add_to(operation.get("requestBody", {}), example.media_type, example, example.body)
        _add_to(operation["responses"].get(str(example.status), {}), example.answer_type, example, example.answer)
    if examples:
        _add_parameters(operation.get("parameters", ()), examples[0], template)
        operation["x-codeSamples"] = [{"lang": "Shell", "label": "curl", "source": format_curl(examples[0])}]


def format_curl(example: Example) -> str:
    """Return the call as a line for the shell."""
    usual = "GET" if example.body is None else "POST"
    lines = [f'curl{"" if example.method == usual else f" -X {example.method}"} -H "Authorization: Bearer $KEY"']
    if example.body is not None:
        is_json = example.media_type == JSON
        text = msgspec.json.encode(example.body).decode() if is_json else str(example.body)
        lines += [f"-H 'Content-Type: {example.media_type}'", f"--data-binary {shlex.quote(text)}"]
    return " \\\n     ".join([*lines, shlex.quote(f"{SERVER}{example.path}")])


def _add_to(part: dict[str, Any], media_type: str, example: Example, value: Any) -> None:
    content = part.get("content", {}).get(media_type)
    if content is not None and value is not None:
        content.setdefault("examples", {})[example.name] = {"summary": example.title, "value": value}


def _add_parameters(parameters: Sequence[dict[str, Any]], example: Example, template: str) -> None:
    """Show in each parameter of the path what stands in its place in the example."""
    parts = zip(template.strip("/").split("/"), example.path.partition("?")[0].strip("/").split("/"), strict=True)
    shown = {named[1:-1]: given for named, given in parts if named.startswith("{")}
    for parameter in parameters:
        if parameter["in"] == "path" and parameter["name"] in shown:
            text = shown[parameter["name"]]
            parameter["example"] = int(text) if parameter["schema"].get("type") == "integer" else text
