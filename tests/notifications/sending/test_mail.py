import asyncio
import smtplib
import socket
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest
from django.core import mail as django_mail
from django.core.mail.utils import DNS_NAME

from config.common.database.leases import lease_clock
from notifications.sending import mail as module
from notifications.sending import smtp
from notifications.sending.claims import LEASE
from notifications.sending.mail import send_mail, send_mail_blocking
from notifications.sending.webhook import ClaimLapsed
from tests.mail_server import MailServer, mail_server

BODY = {
    "version": 1,
    "type": "alert.raised",
    "id": 7,
    "kind": "engine.down",
    "subject": "engine/redis",
    "title": "%(engine)s does not answer",
    "detail": {"engine": "Redis\r\nBcc: thief@example.org", "error": "<refused> & gone"},
    "count": 3,
    "first_at": "2026-01-31T10:00:00.000Z",
    "at": "2026-01-31T10:05:00.000Z",
    "note": "",
}


@pytest.fixture
def server(settings: Any) -> Iterator[MailServer]:
    DNS_NAME.get_fqdn()  # asked once for a process, and slowly where nobody knows this machine
    with mail_server() as server:
        settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 2
        yield server


class TestSendMail:
    async def test_a_mail_that_the_server_takes_is_a_success(self, server: MailServer) -> None:
        answer = await send_mail("ops@example.org", BODY)
        assert (answer.status, answer.error, answer.ok) == (250, "", True)
        [(recipient, message)] = server.inbox
        assert recipient == message["To"] == "ops@example.org"

    async def test_line_breaks_of_a_title_make_no_header(self, server: MailServer) -> None:
        await send_mail("ops@example.org", BODY)
        [(_, message)] = server.inbox
        assert message["Subject"] == "[Postern] Redis Bcc: thief@example.org does not answer"
        assert message["Bcc"] is None

    async def test_the_text_says_what_when_how_often_and_where(self, server: MailServer) -> None:
        await send_mail("ops@example.org", BODY)
        presentation = server.inbox[0][1].get_content()
        for part in (
            "error: <refused> & gone",
            "Since: 2026-01-31T10:00",
            "Occurrences: 3",
            "/admin/notifications/alert/7/",
        ):
            assert part in presentation

    async def test_the_end_of_an_alert_is_said_with_its_note(self, server: MailServer) -> None:
        await send_mail("ops@example.org", BODY | {"type": "alert.closed", "note": "answers again"})
        message = server.inbox[0][1]
        assert message["Subject"].startswith("[Postern] Closed: Redis")
        assert "Note: answers again" in message.get_content()

    async def test_a_repeat_has_the_same_id(self, server: MailServer) -> None:
        await send_mail("ops@example.org", BODY)
        await send_mail("ops@example.org", BODY)
        await send_mail("ops@example.org", BODY | {"count": 4})
        first, again, other = (message["Message-ID"] for _, message in server.inbox)
        assert first == again != other

    async def test_a_refused_recipient_is_the_answer_of_the_server(self, server: MailServer) -> None:
        server.refuses = "550 no such mailbox"
        answer = await send_mail("ops@example.org", BODY)
        assert (answer.status, answer.error, answer.ok) == (550, "no such mailbox", False)

    async def test_a_server_that_is_not_there_is_a_failure_without_a_status(self, settings: Any) -> None:
        settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            settings.EMAIL_HOST, settings.EMAIL_PORT = unused.getsockname()
            answer = await send_mail("ops@example.org", BODY)
        assert answer.status is None
        assert "ConnectionRefusedError" in answer.error

    async def test_a_server_that_says_nothing_is_waited_for_so_long_and_no_longer(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
        monkeypatch.setattr(module, "LONGEST_SECONDS", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            settings.EMAIL_HOST, settings.EMAIL_PORT = silent.getsockname()
            settings.EMAIL_TIMEOUT = 0.5
            answer = await send_mail("ops@example.org", BODY)
        assert (answer.status, answer.error) == (None, "no answer within 0.2 s")

    async def test_a_server_that_is_slow_and_never_silent_gets_nothing_after_the_end(
        self, server: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each of its bytes comes within the time-out of a step; its first line alone takes three seconds."""
        monkeypatch.setattr(module, "LONGEST_SECONDS", 1.0)
        server.pause = 0.3
        answer = await send_mail("ops@example.org", BODY)
        assert (answer.status, answer.error) == (None, "no answer within 1 s")
        assert 900 <= answer.duration_ms < 1900
        server.pause = 0.0
        await asyncio.sleep(1)
        assert server.inbox == []

    async def test_a_mail_that_was_taken_is_not_undone_by_a_slow_goodbye(
        self, server: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(smtp, "GOODBYE_SECONDS", 0.2)
        server.slow_goodbye = 1.5
        answer = await send_mail("ops@example.org", BODY)
        assert (answer.status, len(server.inbox)) == (250, 1)
        assert answer.duration_ms < 1400

    async def test_nothing_leaves_where_the_lease_could_end_first(self, server: MailServer) -> None:
        until = lease_clock() + module.LEAST_SECONDS + module.ROOM_SECONDS
        with pytest.raises(ClaimLapsed):
            await send_mail("ops@example.org", BODY, until=until)
        assert server.inbox == []

    async def test_what_has_waited_for_long_has_a_shorter_conversation(
        self, server: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "LEAST_SECONDS", 0.5)
        server.pause = 0.3
        answer = await send_mail("ops@example.org", BODY, until=lease_clock() + module.ROOM_SECONDS + 1.0)
        assert (answer.status, answer.error) == (None, "no answer within 1 s")

    def test_a_deadline_that_is_over_before_the_server_speaks_is_a_lost_connection(
        self, server: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        times = chain([0.0], repeat(2.0))  # the line took its time to stand
        monkeypatch.setattr(smtp, "lease_clock", lambda: next(times))
        with pytest.raises(smtplib.SMTPServerDisconnected):
            smtp.EmailBackend(deadline=1.0).open()

    def test_the_longest_conversation_and_its_recording_have_room_in_the_lease(self) -> None:
        assert LEASE.total_seconds() >= module.LONGEST_SECONDS + 2 * module.ROOM_SECONDS

    async def test_an_address_that_no_mail_can_have_is_a_failure(self) -> None:
        answer = await send_mail("a@b\nBcc: c@d", BODY)
        assert answer.status is None
        assert "BadHeaderError" in answer.error

    def test_speaks_the_language_of_the_installation(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from django.utils import translation

        from notifications.sending import presentation

        settings.LANGUAGE_CODE = "ru"
        monkeypatch.setattr(presentation, "gettext", lambda words: f"{translation.get_language()}: {words}")
        send_mail_blocking("ops@example.org", BODY | {"type": "alert.closed"})
        assert django_mail.outbox[0].subject.startswith("[Postern] ru: Closed")
