import errno
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import psycopg
import pytest
from django.db import connection

from config.engines import postgresql
from config.environment.read import read_environment
from config.runtime.alerts import database_watch as watch_module
from config.runtime.alerts.database_watch import DatabaseWatch, DiskRefuses, check_writes, has_recipient
from config.runtime.alerts.storage import StorageWatch
from config.runtime.processes import PROCESSES, WATCH, needed_processes
from notifications.models import Alert
from tests.mail_server import MailServer, mail_server
from tests.messaging.failing_disk import failing


class Database:
    """Answers, or does not; with a clock beside it."""

    def __init__(self) -> None:
        self.away = False
        self.time = 0.0

    def check(self) -> None:
        if self.away:
            raise ConnectionRefusedError("nobody listens")


class Phone(BaseHTTPRequestHandler):
    texts: list[dict[str, str]] = []

    def do_POST(self) -> None:
        self.texts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def phone(settings: Any) -> Iterator[list[dict[str, str]]]:
    """A telephone behind an SMS gateway on the loopback."""
    Phone.texts = []
    with HTTPServer(("127.0.0.1", 0), Phone) as gateway:
        threading.Thread(target=gateway.serve_forever, args=[0.05], daemon=True).start()
        settings.SMS_URL, settings.ADMIN_PHONE = f"http://127.0.0.1:{gateway.server_port}/", "+375291234567"
        yield Phone.texts
        gateway.shutdown()


@pytest.fixture
def inbox(settings: Any) -> Iterator[MailServer]:
    with mail_server() as server:
        settings.EMAIL_BACKEND = "notifications.sending.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 2
        settings.ADMIN_EMAIL = "admin@example.org"
        yield server


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def watch(database: Database) -> DatabaseWatch:
    return DatabaseWatch(database.check, lambda: database.time)


def look_for(watch: DatabaseWatch, database: Database, seconds: int) -> None:
    for _ in range(seconds // 5):
        database.time += 5
        watch.run_once()


def subjects(server: MailServer) -> list[str]:
    return [str(message["Subject"]) for _, message in server.inbox]


class TestDatabaseWatch:
    def test_half_a_minute_away_is_mailed_and_texted_once_and_so_is_the_return(
        self, watch: DatabaseWatch, database: Database, inbox: MailServer, phone: list[dict[str, str]]
    ) -> None:
        database.away = True
        look_for(watch, database, 30)
        assert subjects(inbox) == []
        look_for(watch, database, 60)
        assert subjects(inbox) == ["[Postern] The database is not responding"]
        assert "nobody listens" in inbox.inbox[0][1].get_content()
        database.away = False
        look_for(watch, database, 60)
        back = "The database is back after 90 s"
        assert subjects(inbox)[1:] == [f"[Postern] {back}"]
        assert phone == [
            {"to": "+375291234567", "text": "Postern: The database is not responding"},
            {"to": "+375291234567", "text": f"Postern: {back}"},
        ]

    def test_a_short_absence_is_nobodys_business(
        self, watch: DatabaseWatch, database: Database, inbox: MailServer
    ) -> None:
        for away in (True, False, True, False):
            database.away = away
            look_for(watch, database, 25)
        assert subjects(inbox) == []

    def test_each_absence_is_told(self, watch: DatabaseWatch, database: Database, inbox: MailServer) -> None:
        for away in (True, False, True, False):
            database.away = away
            look_for(watch, database, 40)
        assert len(subjects(inbox)) == 4

    def test_what_the_mail_server_did_not_take_is_sent_when_it_does(
        self, watch: DatabaseWatch, database: Database, inbox: MailServer, phone: list[dict[str, str]]
    ) -> None:
        inbox.refuses = "451 try later"
        database.away = True
        look_for(watch, database, 60)
        assert (subjects(inbox), len(phone)) == ([], 1)
        inbox.refuses = ""
        look_for(watch, database, 5)
        assert (subjects(inbox), len(phone)) == (["[Postern] The database is not responding"], 1)

    def test_the_return_replaces_what_could_not_be_sent(
        self, watch: DatabaseWatch, database: Database, inbox: MailServer
    ) -> None:
        inbox.refuses = "451 try later"
        database.away = True
        look_for(watch, database, 60)
        database.away, inbox.refuses = False, ""
        look_for(watch, database, 60)
        assert subjects(inbox) == ["[Postern] The database is back after 60 s"]


@pytest.mark.django_db
class TestPostgresqlsDisk:
    """The server writes a file of its own; here it is told that there is no room for it."""

    @pytest.fixture(autouse=True)
    def _only_postgresql(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite is on a disk of ours")

    def test_is_asked_by_a_statement_that_needs_room(self) -> None:
        check_writes()
        limited = postgresql.connect(options="-c work_mem=64kB -c temp_file_limit=512kB")
        with limited as session, pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            session.execute(f"SELECT count(*) FROM generate_series(1, {postgresql.PROBE_ROWS})")

    def test_is_mailed_when_it_is_full(
        self, database: Database, inbox: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse() -> None:
            raise psycopg.errors.DiskFull("could not write to file: No space left on device")

        monkeypatch.setattr(postgresql, "probe_disk", refuse)
        watch = DatabaseWatch(clock=lambda: database.time)
        look_for(watch, database, 60)
        assert subjects(inbox) == ["[Postern] The database can be read, but its disk is not writable"]
        assert "53100" in inbox.inbox[0][1].get_content()

    def test_is_an_alert_where_one_can_still_be_kept_and_closes_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise psycopg.errors.DiskFull("could not extend file: No space left on device")

        watch = StorageWatch(asks_database=True)
        with monkeypatch.context() as patch:
            patch.setattr(postgresql, "probe_disk", refuse)
            watch.run_once()
            StorageWatch(node="web-2").run_once()
            alert = Alert.objects.get(subject="disk/postgresql")
            assert (alert.kind, alert.status, "53100" in alert.words) == ("storage.failed", "open", True)
        watch.run_once()
        assert Alert.objects.get(subject="disk/postgresql").status == "resolved"


class TestWhoWatches:
    ENGINES = {"DATABASE_URL": "postgresql://u@h/n", "AMQP_URL": "amqp://h"}

    @pytest.mark.parametrize("variable", [{"ADMIN_EMAIL": "a@example.org"}, {"ADMIN_PHONE": "+375 29 123-45-67"}])
    def test_a_process_where_there_is_someone_to_tell(self, variable: dict[str, str]) -> None:
        assert needed_processes(read_environment(self.ENGINES | variable)) == (*PROCESSES, WATCH)

    def test_nobody_where_there_is_no_one(self, settings: Any) -> None:
        settings.ADMIN_EMAIL = settings.ADMIN_PHONE = None
        assert needed_processes(read_environment(self.ENGINES)) == PROCESSES
        assert not has_recipient()


@pytest.mark.embedded
@pytest.mark.django_db
class TestFullDisk:
    def test_sqlite_that_can_keep_nothing_is_told_of_with_path_and_errno(
        self, database: Database, phone: list[dict[str, str]], settings: Any
    ) -> None:
        def refuse() -> None:
            raise DiskRefuses("/data: No space left on device (errno 28)")

        look_for(DatabaseWatch(refuse, lambda: database.time), database, 40)
        (text,) = phone
        assert "The database can be read, but its disk is not writable" in text["text"]

    def test_only_a_database_on_this_disk_is_written_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watch_module, "check_database", lambda: None)
        with failing(errno.ENOSPC, names=["write"], modules=["config.runtime.alerts.storage"]):
            if connection.vendor == "sqlite":
                with pytest.raises(DiskRefuses, match="errno 28"):
                    check_writes()
            else:
                check_writes()
