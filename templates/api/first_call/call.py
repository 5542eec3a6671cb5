import json
import os
from datetime import UTC, datetime
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

API = "http://127.0.0.1:8000/api/v1"


def call(method: str, path: str, body: object = None) -> Any:
    """Make a call; return what was answered, also where that is an error."""
    headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(API + path, data, headers, method=method), timeout=30) as answer:
            return json.load(answer)
    except HTTPError as error:
        return json.load(error)


# With an id and a time of its own the signal may be sent again whenever no answer has come: it counts once.
signal = {"sensor_id": "0xA", "data": 0, "at": datetime.now(UTC).isoformat(), "id": str(uuid4())}
print(call("POST", "/signals/", signal))
print(call("GET", "/sensors/0xA/")["state"])
print(call("GET", "/sensors/0xB/"))
