import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from processes.exchange.management.commands.simulate_erp import Command
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Ending, Options, Outcome
from processes.exchange.reference.faults import EXIT_CODE, Faults, Rates
from processes.exchange.reference.hooks import Hooks, Point
from processes.exchange.reference.ledger import count_effects, open_store, read_balances
from processes.exchange.reference.loop import Erp
from tests.processes.exchange.reference.erp_and_server import Crashed
from tests.processes.exchange.reference.fake_server import FakeServer, serving

IDS = [f"m{number:03}" for number in range(60)]
ALL_AT_ONCE = Rates(deadlock=0.2, incorrect=0.1, leave_out=0.1, commit_failure=0.2, crash=0.3)
ONE_LIFE = """
import sys
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Ending, Options
from processes.exchange.reference.faults import Faults, Rates
from processes.exchange.reference.ledger import open_store
from processes.exchange.reference.loop import Erp
url, address = sys.argv[1:]
erp = Erp(Server(url, "erp"), open_store(address), Options(take_over=True), Faults(Rates(crash=0.5), seed=3))
erp.run_until(lambda outcome: outcome.ending == Ending.IDLE, every=0.01, report=lambda outcome: None)
"""


@pytest.fixture
def served() -> Iterator[tuple[FakeServer, str]]:
    with serving() as pair:
        yield pair


def _raise_crashed() -> None:
    raise Crashed


def _live(url: str, address: str, hooks: Hooks) -> bool:
    """Live once; say whether the ERP came to an end without dying."""
    server, store = Server(url, "erp", repeats=2, pause=0.01), open_store(address)
    with closing(Erp(server, store, Options(take_over=True), hooks)) as erp:
        try:
            erp.run_until(lambda outcome: outcome.ending == Ending.IDLE, every=0.001, report=lambda outcome: None)
        except Crashed:
            return False
    return True


class TestFaults:
    def test_with_all_faults_at_once_each_correct_message_has_one_effect(
        self, served: tuple[FakeServer, str], tmp_path: Path
    ) -> None:
        fake, url = served
        fake.put(*IDS)
        fake.expect("prepare", "answer lost", "answer lost", "call lost", "unavailable")
        fake.expect("commit", "answer lost", "answer lost", "call lost", "call lost", "unavailable")
        faults = Faults(ALL_AT_ONCE, seed=5, die=_raise_crashed)
        lives = 1
        while not _live(url, str(tmp_path / "erp"), faults):
            lives += 1
        correct = [id for id in IDS if not faults.is_incorrect(id)]
        store = open_store(str(tmp_path / "erp"))
        assert count_effects(store) == Counter(correct)
        assert read_balances(store) == {"cash": 10 * len(correct)}
        assert lives > 1
        assert len(correct) < len(IDS)
        store.close()

    def test_it_dies_at_every_point_of_some_process(self) -> None:
        faults = Faults(Rates(crash=1), die=_raise_crashed)
        for point in Point:
            assert any(_dies(faults, point, f"p{number}") for number in range(100))

    def test_without_rates_nothing_happens(self, served: tuple[FakeServer, str], tmp_path: Path) -> None:
        fake, url = served
        fake.put(*IDS)
        assert _live(url, str(tmp_path / "erp"), Faults(Rates(), die=_raise_crashed))
        assert {process.status for process in fake.processes.values()} == {"DONE"}


def _dies(faults: Faults, point: Point, process_id: str) -> bool:
    try:
        faults.reached(point, process_id)
    except Crashed:
        return True
    return False


class TestDie:
    @pytest.mark.slow
    def test_a_process_that_dies_and_is_started_again_ends_with_one_effect_each(
        self, served: tuple[FakeServer, str], tmp_path: Path
    ) -> None:
        fake, url = served
        fake.put(*IDS)
        codes = [EXIT_CODE]
        while codes[-1] == EXIT_CODE and len(codes) < 30:
            done = subprocess.run([sys.executable, "-c", ONE_LIFE, url, str(tmp_path / "erp")], check=False)
            codes.append(done.returncode)
        assert codes[-1] == 0
        assert codes.count(EXIT_CODE) > 1
        store = open_store(str(tmp_path / "erp"))
        assert count_effects(store) == Counter(IDS)
        store.close()


@pytest.fixture
def erp(served: tuple[FakeServer, str], tmp_path: Path) -> Iterator[Erp]:
    with closing(Erp(Server(served[1], "erp", repeats=1), open_store(str(tmp_path / "erp")))) as erp:
        yield erp


class TestErp:
    def test_it_goes_on_when_the_server_was_away_at_its_start(self, served: tuple[FakeServer, str], erp: Erp) -> None:
        erp.store.record_attempt("p0", "erp")
        served[0].expect("p0", "unavailable")
        assert [erp.run_once().ending, erp.run_once().ending] == [Ending.NO_ANSWER, Ending.IDLE]
        assert erp.store.unsettled("erp") == []

    def test_it_goes_on_when_its_own_database_was_away(self, erp: Erp) -> None:
        erp.store.close()
        assert [erp.run_once().ending, erp.run_once().ending] == [Ending.STORE_FAILED, Ending.IDLE]

    def test_a_stop_ends_the_loop(self, erp: Erp) -> None:
        outcomes: list[Outcome] = []

        def report(outcome: Outcome) -> None:
            outcomes.append(outcome)
            erp.stop.set()

        erp.run_until(lambda outcome: False, every=60, report=report)
        assert len(outcomes) == 1


class TestCommand:
    def test_it_exchanges_until_nothing_is_left_and_prints_the_totals(
        self, served: tuple[FakeServer, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        served[0].put(*IDS)
        call_command(Command(), url=served[1], key="erp", store=str(tmp_path / "deep" / "erp"))
        assert capsys.readouterr().out == "DONE 6, IDLE 1, PROCESSED 60\n"

    def test_once_is_one_exchange(self, served: tuple[FakeServer, str], tmp_path: Path) -> None:
        served[0].put(*IDS)
        call_command(Command(), url=served[1], key="erp", store=str(tmp_path / "erp"), once=True, max_files=7)
        assert served[0].process().messages == IDS[:7]

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"url": "ftp://x"}, "--url: not an http"),
            ({"store": "/dev/null/x"}, "--store /dev/null/x"),
            ({"key": ""}, "refused"),
        ],
    )
    def test_a_wrong_option_is_named(
        self, served: tuple[FakeServer, str], tmp_path: Path, wrong: dict[str, str], says: str
    ) -> None:
        options = {"url": served[1], "key": "erp", "store": str(tmp_path / "erp")} | wrong
        with pytest.raises(CommandError, match=says):
            call_command(Command(), **options)
