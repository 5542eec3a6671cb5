"""Themes with a URL: what is posted, how the answers are carried out, and what counts as failure."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from config.common.database.leases import lease_clock
from notifications.models import RepeatSession, Theme
from notifications.sending import webhook as sending
from notifications.sessions import webhook
from notifications.sessions.claims import LEASE, claim_due
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.presentation import present_with_timelines
from notifications.sessions.repeat import Repeat, settle_now
from notifications.sessions.themes import rotate_secret
from tests.notifications.sessions.themes import SECRET, repeat_due, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

ACKNOWLEDGED = {"status": "acknowledged", "reason": "", "session_code": 200}


class Partner:
    """A receiver that gives prepared answers, the last one again and again."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.answers: list[Callable[[], tuple[int, bytes]]] = []
        self.calls: list[tuple[dict[str, str], bytes]] = []
        partner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                partner.calls.append(({name.lower(): text for name, text in self.headers.items()}, body))
                give = partner.answers.pop(0) if len(partner.answers) > 1 else partner.answers[0]
                status, answer = give()
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.send_header("location", "/elsewhere")
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/repeat"

    def says(self, *operations: Any) -> "Partner":
        return self.sends(200, json.dumps({"operations": operations}).encode())

    def sends(self, status: int, body: bytes) -> "Partner":
        self.answers.append(lambda: (status, body))
        return self

    def hangs(self, seconds: float) -> "Partner":
        def wait() -> tuple[int, bytes]:
            self.is_over.wait(seconds)
            return 200, b'{"operations": []}'

        self.answers.append(wait)
        return self

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body in self.calls]


@pytest.fixture
def partner(settings: Any) -> Iterator[Partner]:
    settings.WEBHOOK_ALLOWED_NETWORKS = (ip_network("127.0.0.1/32"),)
    made = Partner()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.is_over.set()
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def repeated(partner: Partner, *records: Any, **values: Any) -> int:
    """Repeat a session by the partner once; return its id."""
    theme(url=partner.url, **values)
    session_id = enqueue_session(theme=7, records=list(records), delay=0)
    assert repeat_due() == [session_id]
    return session_id


def shown(session_id: int) -> Any:
    return present_with_timelines([RepeatSession.objects.get(pk=session_id)])[0]


class TestCall:
    def test_is_the_contracts_and_signed(self, partner: Partner) -> None:
        session_id = repeated(partner.says(), {"a": 1}, 2)
        [(headers, body)] = partner.calls
        assert Webhook(SECRET).verify(body, headers) == {
            "version": 1,
            "session": {
                "id": session_id,
                "theme": 7,
                "change": 2,
                "status": "active",
                "records": [{"a": 1}, 2],
                "repeats": 0,
                "repeat_at": None,
            },
            "fence": 2,
            "verdicts": [],
        }
        assert (headers["user-agent"], headers["content-type"]) == ("Postern/1", "application/json")

    def test_every_call_has_an_id_of_its_own(self, partner: Partner) -> None:
        repeated(partner.says({"op": "append", "records": [2]}).says(), 1)
        first, second = (headers["webhook-id"] for headers, _ in partner.calls)
        assert (first[:-2], first[-2:], second[-2:]) == (second[:-2], "-1", "-2")
        # Neither the number of a session nor its fence: a restored database gives both again.
        assert UUID(first.removeprefix("session-")[:-2]).version == 7

    def test_a_worker_that_was_stopped_past_its_lease_calls_nobody(
        self, partner: Partner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = lease_clock
        monkeypatch.setattr(sending, "lease_clock", lambda: real() + LEASE.total_seconds())
        session_id = repeated(partner.says(), 1)
        assert partner.calls == []
        assert RepeatSession.objects.get(pk=session_id).repeats == 1

    def test_after_a_rotation_both_secrets_sign(self, partner: Partner) -> None:
        theme(url=partner.says().url)
        new = rotate_secret(number=7, actor="test")
        enqueue_session(theme=7, records=[1], delay=0)
        repeat_due()
        [(headers, body)] = partner.calls
        assert Webhook(SECRET).verify(body, headers) == Webhook(new).verify(body, headers)
        Theme.objects.update(old_secret_until=timezone.now())
        enqueue_session(theme=7, records=[1], delay=0)
        repeat_due()
        assert len(partner.calls[1][0]["webhook-signature"].split()) == 1

    def test_goes_nowhere_inside_unless_that_is_allowed(self, partner: Partner, settings: Any) -> None:
        settings.WEBHOOK_ALLOWED_NETWORKS = ()
        session_id = repeated(partner.says(), 1)
        assert partner.calls == []
        assert "loopback" in shown(session_id)["timeline"][-1]["what"]


class TestSuccess:
    @pytest.mark.parametrize("operations", [[], [{"op": "delete"}], [{"op": "delete"}, {"op": "finish"}]])
    def test_delete_or_an_empty_list(self, partner: Partner, operations: Any) -> None:
        repeated(partner.says(*operations), 1)
        assert not RepeatSession.objects.exists()
        assert len(partner.calls) == 1


class TestOperations:
    def test_are_answered_by_the_next_call_until_the_end(self, partner: Partner) -> None:
        first, second = {"op": "append", "records": [2]}, {"op": "rewrite", "records": ["x"]}
        session_id = repeated(partner.says(first).says(second, first).says({"op": "finish"}), 1)
        assert [body["verdicts"] for body in partner.bodies] == [
            [],
            [{"op": "append", **ACKNOWLEDGED}],
            [{"op": "rewrite", **ACKNOWLEDGED}, {"op": "append", **ACKNOWLEDGED}],
        ]
        assert [body["session"]["records"] for body in partner.bodies] == [[1], [1, 2], ["x", 2]]
        assert [body["session"]["change"] for body in partner.bodies] == [2, 3, 5]
        assert {body["fence"] for body in partner.bodies} == {2}
        kept = shown(session_id)
        assert (kept["status"], kept["repeats"], kept["records"]) == ("saved", 1, ["x", 2])
        assert [verdict["op"] for verdict in kept["timeline"][-1]["verdicts"]] == ["append", "rewrite", "append"]

    def test_after_a_refused_one_the_others_still_run(self, partner: Partner) -> None:
        long, short = {"op": "append", "records": ["x" * 50]}, {"op": "append", "records": [2]}
        session_id = repeated(partner.says(long, short).says({"op": "finish"}), 1, length_limit=20)
        refused, taken = partner.bodies[1]["verdicts"]
        assert (refused["status"], refused["session_code"], taken) == (
            "refused",
            2000,
            {"op": "append", **ACKNOWLEDGED},
        )
        assert "longer" in refused["reason"]
        assert shown(session_id)["records"] == [1, 2]

    def test_have_an_end_after_a_hundred_calls(self, partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
        assert webhook.MOST_CALLS == 100
        monkeypatch.setattr(webhook, "MOST_CALLS", 4)
        session_id = repeated(partner.says({"op": "rewrite", "records": [2]}), 1)
        assert len(partner.calls) == 4
        assert shown(session_id)["timeline"][-1]["what"] == "failed: WebhookFailed: no end after 4 calls"


class TestFailure:
    @pytest.mark.parametrize("status", [301, 404, 410, 500])
    def test_another_status(self, partner: Partner, status: int) -> None:
        session_id = repeated(partner.sends(status, b'{"operations": []}'), 1)
        assert (shown(session_id)["status"], shown(session_id)["repeats"]) == ("saved", 1)
        assert str(status) in shown(session_id)["timeline"][-1]["what"]

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"noted",
            b"[]",
            b"{}",
            b'{"operations": null}',
            b'{"operations": {}}',
            b'{"operations": ["delete"]}',
            b'{"operations": [{"op": "append"}]}',
            b'{"operations": [{"op": "append", "records": {}}]}',
            b'{"operations": [{"op": "explode"}]}',
            b'{"operations": [{"op": "append", "records": ["\\u0000"]}]}',
            b'{"operations": [{"op": "append", "records": ["\xff"]}]}',
            b'{"operations": [{"op": "append", "records": [' + b"[" * 300 + b"]" * 300 + b"]}]}",
            b'{"operations": [], "more": "' + b"x" * 70_000 + b'"}',
        ],
    )
    def test_any_other_body(self, partner: Partner, body: bytes) -> None:
        session_id = repeated(partner.sends(200, body), 1)
        assert (shown(session_id)["status"], shown(session_id)["repeats"], shown(session_id)["records"]) == (
            "saved",
            1,
            [1],
        )

    @pytest.mark.parametrize(("surplus", "records"), [(0, [2]), (1, [1])])
    def test_an_answer_of_more_bytes_than_are_read(self, partner: Partner, surplus: int, records: list[int]) -> None:
        body = b'{"operations": [{"op": "rewrite", "records": [2]}]'.ljust(webhook.ANSWER_BYTES + surplus - 1) + b"}"
        session_id = repeated(partner.sends(200, body).says({"op": "finish"}), 1)
        assert shown(session_id)["records"] == records

    def test_no_answer_within_the_themes_timeout(self, partner: Partner) -> None:
        began = time.monotonic()
        session_id = repeated(partner.hangs(60), 1, timeout=0.3)
        assert time.monotonic() - began < 30
        assert "within 0.3 s" in shown(session_id)["timeline"][-1]["what"]


class TestCancel:
    def test_cuts_the_call_and_does_not_count(self, partner: Partner) -> None:
        theme(url=partner.hangs(60).url, timeout=30)
        session_id = enqueue_session(theme=7, records=[1], delay=0)
        repeat = Repeat(claim_due(1)[0])
        timer = threading.Timer(0.3, repeat.cancel)
        timer.start()
        began = time.monotonic()
        repeat.run(settle_now)
        assert time.monotonic() - began < 30
        assert (shown(session_id)["status"], shown(session_id)["repeats"]) == ("saved", 0)
        assert shown(session_id)["timeline"][-1]["what"].startswith("stopped")
