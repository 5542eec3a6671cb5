"""Make the calls that the OpenAPI document shows as examples: compare them with what is recorded, or record them.

`python -m tests.record_examples` records them anew; what has not changed but in its ids and times stays as it is. The
tests that make the calls are `test_examples.py` in the folders of the API.
"""

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from asgiref.sync import async_to_sync
from django.test import Client
from django.urls import resolve

from config.access.keys import create_key
from config.access.scopes import Scope
from config.api.examples import FILE, JSON, Example, load_examples
from config.common.correlation import correlated
from tests.record_examples import RECORD

CORRELATION_ID = "example-0001"
SAMPLES = {
    re.compile(r"whsec_[A-Za-z0-9+/=]+"): "whsec_dGhpcyBpcyBhIHNhbXBsZSwgbm90IGEgc2VjcmV0",
    re.compile(r"(p[scdb])_[a-z0-9]{8}_[A-Za-z0-9_-]{43}"): r"\1_sample00_here-are-32-random-bytes-as-base64-letters-",
    re.compile(r"(p[scdb])_[a-z0-9]{8}\b"): r"\1_sample00",
    re.compile(r"http://127\.0\.0\.1:\d+/200/hook"): "https://watch.example/hook",
}
"""What stands in a file instead of a secret, and of the address of a receiver that the test has started."""
BLURRED = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.%A-F]+Z"), "<time>"),
    (re.compile(r"\d{8}T\d{9}Z"), "<time>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{12}-[0-9a-f]{8}-[0-9a-f]{8}\b"), "<id>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"(?<=\.)[0-9a-f]{13}\b"), "<id>"),
    (re.compile(r"cursor=[^&]+"), "cursor=<cursor>"),
    (re.compile(r"\d+"), "<number>"),
)
COUNTED = frozenset(
    [
        "id",
        "client",
        "client_id",
        "clients",
        "event",
        "reverts",
        "instance",
        "session",
        "duration_ms",
        "after_ms",
        "lag_seconds",
        "row",
        "from",
    ]
)
"""Fields whose numbers come from a sequence or a clock."""
WORDED = frozenset(["message", "question", "reason", "summary", "text", "title"])
"""Fields for people, whose words other tests are about: here they may be better ones since the recording."""


class Tour:
    """Calls of one package of views, each with the key it takes; those that are shown become examples."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.made: dict[str, list[Example]] = {}
        self.key = create_key(name="example", actor="test", scopes=[scope.value for scope in Scope])[1]

    def show(
        self, title: str, method: str, path: str, body: Any = None, *, key: str = "", media_type: str = JSON
    ) -> Any:
        """Make a call and show it as an example; return what was answered."""
        with correlated(CORRELATION_ID):
            example = self._call(title, method, f"/api/v1{path}", body, key=key, media_type=media_type)
        self.made.setdefault(find_operation_id(method, example.path), []).append(example)
        return example.answer

    def call(
        self, method: str, path: str, body: Any = None, *, key: str = "", correlation_id: str = CORRELATION_ID
    ) -> Any:
        """Make a call that only prepares another; return what was answered."""
        with correlated(correlation_id):  # as the server does by the header of a call
            return self._call("", method, f"/api/v1{path}", body, key=key, media_type=JSON).answer

    def note(self, name: str, title: str, body: Any) -> None:
        """Show the body of a webhook, which goes out, as an example."""
        self.made.setdefault(name, []).append(
            Example(title=title, method="POST", path="/", body=_as_shown(body), status=200)
        )

    def check(self) -> None:
        """Compare the calls with what the document shows, or record them for it."""
        if RECORD in os.environ:
            self._record()
        recorded = load_examples(self.package)
        assert sorted(recorded) == sorted(self.made), "python -m tests.record_examples"
        for operation, made in self.made.items():
            shown, now = (
                [blur(each, is_worded=False) for each in examples] for examples in (recorded[operation], made)
            )
            assert shown == now, f"{operation} answers otherwise: python -m tests.record_examples"

    def _call(self, title: str, method: str, path: str, body: Any, *, key: str, media_type: str) -> Example:
        text = b"" if body is None else json.dumps(body).encode() if media_type == JSON else str(body).encode()
        headers = {
            "Authorization": f"Bearer {key or self.key}",
            "Host": "127.0.0.1:8000",
        }
        response: Any = Client().generic(method, path, text, content_type=media_type, headers=headers)
        content = _gather(response.streaming_content) if response.streaming else response.content
        assert response.status_code < 300, (method, path, response.status_code, content)
        answer_type = response.headers.get("Content-Type", JSON).partition(";")[0]
        answer = None
        if content:
            answer = json.loads(content) if answer_type == JSON else content.decode()
        return Example(
            title=title,
            method=method,
            path=path,
            body=body,
            media_type=media_type,
            status=response.status_code,
            answer=answer,
            answer_type=JSON if answer_type == JSON else answer_type,  # left out where it is the usual one
        )

    def _record(self) -> None:
        kept = load_examples(self.package)
        lines = {
            operation: [
                next((old for old in kept.get(operation, ()) if blur(old) == blur(each)), shown)
                for each in made
                for shown in [msgspec.convert(_as_shown(msgspec.to_builtins(each)), Example)]
            ]
            for operation, made in sorted(self.made.items())
        }
        folder = Path(str(import_module(self.package).__file__)).parent
        text = json.dumps(msgspec.to_builtins(lines), indent=1, ensure_ascii=False)
        (folder / FILE).write_text(text + "\n", encoding="utf-8")
        load_examples.cache_clear()


def blur(value: Any, field: str = "", *, is_worded: bool = True) -> Any:
    """Return a value without what differs from run to run (ids, times, secrets), and maybe without words for people."""
    if isinstance(value, Example):
        return blur(msgspec.to_builtins(value), is_worded=is_worded)
    if isinstance(value, dict):
        return {name: blur(below, name, is_worded=is_worded) for name, below in value.items()}
    if isinstance(value, list):
        blurred = [blur(below, field, is_worded=is_worded) for below in value]
        # Steps of a trace within one millisecond come in any order.
        is_trace = bool(value) and isinstance(value[0], dict) and "lane" in value[0]
        return sorted(blurred, key=repr) if is_trace else blurred
    if isinstance(value, str):
        return "<words>" if value and field in WORDED and not is_worded else _blur_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and field in COUNTED:
        return "<number>"
    return value


def find_operation_id(method: str, path: str) -> str:
    """Return the id under which the document has a call."""
    view = getattr(resolve(path.partition("?")[0]).func, "view_class")()  # noqa: B009 (as_view puts it there)
    described = getattr(view, method.lower()).kwargs["schema"]()
    view.request, view.kwargs, described.view, described.method = None, {}, view, method
    return str(described.get_operation_id())


def _blur_text(text: str) -> str:
    for pattern, sample in SAMPLES.items():
        text = pattern.sub(sample, text)
    for pattern, word in BLURRED:
        text = pattern.sub(word, text)
    return text


def _as_shown(value: Any) -> Any:
    text = json.dumps(value)
    for pattern, sample in SAMPLES.items():
        text = pattern.sub(sample, text)
    return json.loads(text)


def _gather(chunks: Any) -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in chunks])

    return async_to_sync(read)() if hasattr(chunks, "__aiter__") else b"".join(chunks)
