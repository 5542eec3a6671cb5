"""The product with a device and a database that exchange messages, each with its key."""

from typing import Any

from tests.faults.product import Product

SCOPES = ("parties:write", "signals:write", "registry:write", "operations")


class Installation:
    """The product with a device and a database, each with its key."""

    def __init__(self, product: Product) -> None:
        self.product = product
        arguments = [part for scope in SCOPES for part in ("--scope", scope)]
        self.key = product.manage("create_key", "drill", *arguments).stdout.strip()
        self.call("POST", "/enterprises/", {"id": "acme", "name": "Acme"}, expected=201)
        self.call("POST", "/subsystems/", {"id": "sales", "enterprise": "acme", "name": "Sales"}, expected=201)
        party = {"enterprise": "acme", "name": "x"}
        device = {"id": "phone", "subsystem": "sales", **party}
        self.device = self.call("POST", "/devices/", device, expected=201)["key"]
        self.database = self.call("POST", "/databases/", {"id": "erp", **party}, expected=201)["key"]
        self.accepted: list[str] = []

    def call(self, method: str, path: str, body: Any = None, *, key: str = "", expected: int = 200) -> Any:
        status, answer = self.product.call(method, f"/api/v1{path}", body, key=key or self.key)
        assert status == expected, (status, answer, self.product.read_log()[-2000:])
        return answer

    def send(self, id: str) -> int:
        body = {"version": 1, "id": id, "to": "erp", "payload": {"text": "x" * 5000}}
        status, _ = self.product.call("POST", "/api/v1/messages/", body, key=self.device)
        if status == 201:
            self.accepted.append(id)
        return status

    def start(self) -> Any:
        return self.call("POST", "/exchange/processes/", {"version": 1, "max_files": 100}, key=self.database)

    def step(self, process: str, name: str, **fields: Any) -> str:
        body = {"version": 1, **fields}
        return str(self.call("POST", f"/exchange/processes/{process}/{name}/", body, key=self.database)["status"])

    def prepare(self, started: Any) -> str:
        results = [{"message": message["id"], "status": "PROCESSED"} for message in started["messages"]]
        replies = [{"to": "phone", "payload": "y" * 5000}]
        return self.step(started["process_id"], "prepare", results=results, replies=replies)
