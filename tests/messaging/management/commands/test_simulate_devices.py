import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from messaging.management.commands.simulate_devices import Command
from messaging.simulation.calls import Calls, NoAnswer, Refused
from messaging.simulation.devices import Crowd, Device, Plan
from messaging.simulation.journal import Journal, Totals
from tests.processes.exchange.reference.fake_server import FakeServer, Trouble, serving

KILLED_LIFE = """
import os, sys
from messaging.simulation.calls import Calls
from messaging.simulation.devices import Device
from messaging.simulation.journal import Journal
Device("d1", Calls(sys.argv[1], "d1"), Journal(sys.argv[2])).send("erp", {"n": 1})
os._exit(9)
"""


@pytest.fixture
def served() -> Iterator[tuple[FakeServer, str]]:
    with serving() as pair:
        yield pair


@pytest.fixture
def fake(served: tuple[FakeServer, str]) -> FakeServer:
    return served[0]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal")) as journal:
        yield journal


@pytest.fixture
def new_device(served: tuple[FakeServer, str], journal: Journal) -> Iterator[Callable[[str], Device]]:
    made: list[Device] = []

    def make(id: str) -> Device:
        made.append(Device(id, Calls(served[1], id, timeout=20), journal))
        return made[-1]

    yield make
    for device in made:
        device.close()


@pytest.fixture
def device(new_device: Callable[[str], Device]) -> Device:
    return new_device("d1")


def reply(fake: FakeServer, id: str, to: str = "d1") -> None:
    """Lay a reply for a device into its queue."""
    fake._store(id, "erp", {"to": to, "reply_to": "m0", "payload": {}}, b"")


class TestSend:
    def test_an_accepted_message_is_in_the_journal(self, fake: FakeServer, device: Device, journal: Journal) -> None:
        assert device.send("erp", {"n": 1})
        assert journal.accepted() == {id: {"n": 1} for id in fake.stored}
        assert len(fake.stored) == 1

    @pytest.mark.parametrize("trouble", ["answer lost", "call lost", "unavailable"])
    def test_without_an_answer_the_same_id_and_body_are_sent_again(
        self, fake: FakeServer, device: Device, journal: Journal, trouble: Trouble
    ) -> None:
        fake.expect("messages", trouble)
        assert not device.send("erp", {"n": 1})
        assert journal.accepted() == {}
        assert device.resend()
        assert len({call.body for call in fake.called("messages")}) == 1
        assert list(journal.accepted()) == list(fake.stored)

    def test_what_is_answered_is_not_sent_again(self, fake: FakeServer, device: Device) -> None:
        device.send("erp", {})
        device.resend()
        assert len(fake.called("messages")) == 1

    def test_a_refused_message_is_noted_and_not_sent_again(
        self, fake: FakeServer, device: Device, journal: Journal
    ) -> None:
        fake.expect("messages", "refused")
        device.send("erp", {})
        device.resend()
        assert len(fake.called("messages")) == 1
        assert (journal.totals().refused, journal.totals().accepted) == (1, 0)

    def test_a_wrong_key_is_an_error_and_the_message_stays_to_be_sent(
        self, fake: FakeServer, device: Device, journal: Journal
    ) -> None:
        fake.inactive.add("d1")
        with pytest.raises(Refused):
            device.send("erp", {})
        assert len(journal.unanswered("d1")) == 1

    def test_two_journals_never_send_the_same_id(self, tmp_path: Path, served: tuple[FakeServer, str]) -> None:
        for name in ("a", "b"):
            with closing(Journal(tmp_path / name)) as journal, closing(Calls(served[1], "d1")) as calls:
                assert Device("d1", calls, journal).send("erp", {"journal": name})
                assert journal.totals().accepted == 1

    def test_a_killed_simulator_sends_the_same_message_again(
        self, served: tuple[FakeServer, str], tmp_path: Path
    ) -> None:
        fake, url = served
        fake.expect("messages", "answer lost")
        subprocess.run([sys.executable, "-c", KILLED_LIFE, url, str(tmp_path / "j")], check=False)
        with closing(Journal(tmp_path / "j")) as journal, closing(Calls(url, "d1")) as calls:
            assert Device("d1", calls, journal).resend()
            assert list(journal.accepted()) == list(fake.stored)
        assert len(fake.stored) == 1
        assert len(fake.called("messages")) == 2


class TestCollect:
    def test_each_reply_is_confirmed(self, fake: FakeServer, device: Device, journal: Journal) -> None:
        reply(fake, "r1")
        reply(fake, "r2")
        reply(fake, "foreign", to="d2")
        assert device.collect()
        assert journal.confirmed() == {"r1": "m0", "r2": "m0"}
        assert [fake.place(id) for id in ("r1", "r2", "foreign")] == ["Log", "Log", "Messages"]

    @pytest.mark.parametrize("trouble", ["answer lost", "call lost"])
    def test_a_lost_confirmation_is_repeated_and_counts_once(
        self, fake: FakeServer, device: Device, journal: Journal, trouble: Trouble
    ) -> None:
        reply(fake, "r1")
        fake.expect("confirm", trouble)
        assert not device.collect()
        assert journal.totals().confirmed == 0
        assert device.collect()
        totals = journal.totals()
        assert (totals.fetched, totals.confirmed, totals.came_back) == (1, 1, 0)
        assert len(fake.called("confirm")) == 2

    def test_a_message_that_comes_back_after_its_confirmation_is_counted(
        self, fake: FakeServer, device: Device, journal: Journal
    ) -> None:
        reply(fake, "r1")
        device.collect()
        fake.stored["r1"].place = "Messages"
        device.collect()
        assert (journal.totals().confirmed, journal.totals().came_back) == (1, 1)


class TestAskReceipt:
    def test_the_status_is_noted(self, fake: FakeServer, device: Device, journal: Journal) -> None:
        device.send("erp", {})
        [id] = fake.stored
        fake.stored[id].place = "Error"
        assert device.ask_receipt(id) == "incorrect"
        assert journal.receipts() == {id: "incorrect"}


class TestCalls:
    def test_a_connection_that_the_server_closed_is_opened_again(self, served: tuple[FakeServer, str]) -> None:
        with closing(Calls(served[1], "d1")) as calls:
            served[0].expect("messages", "call lost")
            with pytest.raises(NoAnswer):
                calls.call("GET", "/messages/")
            assert calls.call("GET", "/messages/").status == 200

    def test_nobody_listening_is_no_answer(self) -> None:
        with pytest.raises(NoAnswer):
            Calls("http://127.0.0.1:1", "d1").call("GET", "/messages/")


class TestCrowd:
    def test_the_journal_and_the_server_hold_the_same_messages(
        self, fake: FakeServer, new_device: Callable[[str], Device], journal: Journal
    ) -> None:
        for number in range(20):
            reply(fake, f"r{number}", to=f"d{number % 4}")
        fake.expect("messages", *["answer lost", "unavailable", "call lost"] * 3)  # type: ignore[arg-type]
        devices = [new_device(f"d{number}") for number in range(4)]
        Crowd(devices, journal, Plan(["erp"], rate=0, messages=100, payload_bytes=200)).run()
        sent = {id for id, stored in fake.stored.items() if stored.message["to"] == "erp"}
        assert set(journal.accepted()) == sent
        assert journal.totals() == Totals(100, 100, 0, 20, 20, 0)

    def test_started_again_it_sends_only_the_rest(self, new_device: Callable[[str], Device], journal: Journal) -> None:
        device = new_device("d1")
        for messages in (7, 10):
            Crowd([device], journal, Plan(["erp"], rate=0, messages=messages)).run()
            assert journal.totals().accepted == messages

    def test_it_keeps_to_the_rate_and_the_time(self, new_device: Callable[[str], Device], journal: Journal) -> None:
        Crowd([new_device("d1"), new_device("d2")], journal, Plan(["erp"], rate=20, seconds=1)).run()
        assert 5 <= journal.totals().written <= 24

    def test_while_the_server_is_away_nothing_new_is_written(self, journal: Journal) -> None:
        crowd = Crowd([Device("d1", Calls("http://127.0.0.1:1", "d1"), journal)], journal, Plan(["erp"], rate=0))
        timer = threading.Timer(0.7, crowd.stop.set)
        timer.start()
        crowd.run()
        timer.join()
        assert journal.totals().written == 1

    def test_lingering_it_fetches_what_comes_later(self, fake: FakeServer, device: Device, journal: Journal) -> None:
        timer = threading.Timer(0.3, reply, (fake, "late"))
        timer.start()
        Crowd([device], journal, Plan(["erp"], rate=0, messages=1, linger=1)).run()
        timer.join()
        assert journal.confirmed() == {"late": "m0"}

    def test_a_wrong_key_stops_all_devices(
        self, fake: FakeServer, new_device: Callable[[str], Device], journal: Journal
    ) -> None:
        fake.inactive.add("d1")
        with pytest.raises(Refused):
            Crowd([new_device("d1"), new_device("d2")], journal, Plan(["erp"], rate=100)).run()


class TestCommand:
    def test_devices_come_from_options_and_file(
        self, served: tuple[FakeServer, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "keys").write_text("d1 d1\n\nd2 d2\n")
        options = {"url": served[1], "to": ["erp"], "journal": tmp_path / "deep" / "j", "messages": 40, "rate": 0}
        call_command(Command(), **options, device=["d3:d3"], keys=tmp_path / "keys")
        assert capsys.readouterr().out == "40 of 40 accepted, 0 of 0 confirmed\n"
        assert {stored.message["from"] for stored in served[0].stored.values()} == {"d1", "d2", "d3"}

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"device": []}, "--device ID:KEY"),
            ({"device": ["d1"]}, "--device ID:KEY"),
            ({"keys": Path("/nowhere")}, "--keys /nowhere"),
            ({"url": "nothing"}, "--url"),
            ({"journal": Path("/dev/null/j")}, "--journal /dev/null/j"),
        ],
    )
    def test_a_wrong_option_is_named(self, tmp_path: Path, wrong: dict[str, object], says: str) -> None:
        options = {"url": "http://127.0.0.1:1", "to": ["erp"], "journal": tmp_path / "j", "device": ["d1:d1"]} | wrong
        with pytest.raises(CommandError, match=says):
            call_command(Command(), **options)
