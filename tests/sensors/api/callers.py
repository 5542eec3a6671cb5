"""Those who call the API in the tests."""

from typing import Any

from django.test import Client as Browser

from config.access.keys import create_key
from sensors.models import Client


class Caller:
    """Calls with one key and JSON bodies."""

    def __init__(self, key: str | None) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._browser = Browser(headers=headers)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        address = path if path.startswith("http") else f"/api/v1{path}"
        sent = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(self._browser, method.lower())(address, headers=headers, **sent)

    def send_file(self, path: str, content: bytes, kind: str = "text/csv", **headers: str) -> Any:
        return self._browser.post(f"/api/v1{path}", content, content_type=kind, headers=headers)

    def send_form(self, path: str, **fields: Any) -> Any:
        return self._browser.post(f"/api/v1{path}", fields)


def service(*scopes: str) -> Caller:
    return Caller(create_key(name="desk", actor="test", scopes=scopes)[1])


def of_client(client: Client) -> Caller:
    return Caller(create_key(name="theirs", actor="test", kind="client", subject=str(client.pk))[1])
