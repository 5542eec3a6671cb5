import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from config.common.web.rates import MemoryRates, RedisRates, seconds_to_wait
from tests.conftest import ServerAddresses
from tests.messaging.parties import caller_of, make_database, make_device
from tests.servers.redis import RedisServer

AT = 1_800_000_010.5
"""Ten and a half seconds into a minute."""


@pytest.fixture
def mute() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


class TestSecondsToWait:
    def test_lets_the_limit_pass_and_then_names_the_next_minute(self) -> None:
        rates = MemoryRates()
        waits = [seconds_to_wait(rates, "a", limit=2, at=AT) for _ in range(3)]
        assert waits == [None, None, 50]

    def test_begins_anew_with_the_minute(self) -> None:
        rates = MemoryRates()
        waits = [seconds_to_wait(rates, "a", limit=1, at=at) for at in (AT, AT, AT + 50)]
        assert waits == [None, 50, None]

    def test_counts_each_name_for_itself(self) -> None:
        rates = MemoryRates()
        assert [seconds_to_wait(rates, name, limit=1, at=AT) for name in ("a", "b")] == [None, None]

    def test_names_beyond_the_most_share_a_count_and_none_is_kept_of_them(self) -> None:
        rates = MemoryRates(most_names=2)
        assert [rates.count(name, AT) for name in ("a", "b", "c", "d", "a")] == [1, 1, 1, 2, 2]
        assert (rates.read("b", AT), rates.read("e", AT), rates.read("a", AT + 60)) == (1, 2, 0)


class TestRedisRates:
    def test_processes_share_their_counts(self, servers: ServerAddresses) -> None:
        one, other = RedisRates(servers.redis), RedisRates(servers.redis)
        name = f"test-{time.time_ns()}"
        assert [one.count(name, AT), other.count(name, AT), one.count(name, AT)] == [1, 2, 3]
        assert one.count(name, AT + 60) == 1

    def test_counts_do_not_stay(self, servers: ServerAddresses) -> None:
        rates = RedisRates(servers.redis)
        name = f"test-{time.time_ns()}"
        rates.count(name, AT)
        assert 0 < rates._redis.ttl(f"rate:{name}:{int(AT // 60)}") <= 120

    def test_counts_in_memory_while_redis_is_away(self) -> None:
        rates = RedisRates("redis://127.0.0.1:1/0")
        assert [rates.count("a", AT), rates.count("a", AT)] == [1, 2]

    def test_stays_away_from_a_mute_redis_for_a_while(self, mute: int) -> None:
        now = 100.0
        rates = RedisRates(f"redis://127.0.0.1:{mute}/0", clock=lambda: now)
        began = time.monotonic()
        rates.count("a", AT)
        first = time.monotonic() - began
        for _ in range(50):
            rates.count("a", AT)
        assert first < 8
        assert time.monotonic() - began - first < 8, "only the first call has waited"

    def test_a_redis_that_stands_still_with_its_connections_open_holds_nobody_up(self) -> None:
        with RedisServer() as server:
            rates = RedisRates(server.url)
            assert rates.count("a", AT) == 1
            with server.frozen():
                began = time.monotonic()
                assert [rates.count("a", AT) for _ in range(50)] == list(range(1, 51))
                assert time.monotonic() - began < 8  # twelve, if each had waited

    def test_comes_back_to_redis(self, servers: ServerAddresses) -> None:
        now = 100.0
        rates = RedisRates("redis://127.0.0.1:1/0", clock=lambda: now)
        name = f"test-{time.time_ns()}"
        rates.count(name, AT)
        rates._redis = RedisRates(servers.redis)._redis
        assert rates.count(name, AT) == 2, "still in memory"
        now = 105.0
        assert rates.count(name, AT) == 1, "in Redis again"


@pytest.mark.embedded
@pytest.mark.django_db
class TestEnterpriseRate:
    def test_devices_and_databases_of_an_enterprise_share_one(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
        settings.KEY_RATE, settings.ENTERPRISE_RATE = 100, 2
        one, two, erp = caller_of(make_device("one")), caller_of(make_device("two")), caller_of(make_database())
        other = caller_of(make_device("other", subsystem="else", enterprise="else"))
        assert [each("GET", "/messages/").status_code for each in (one, two)] == [200, 200]
        refused = erp("POST", "/exchange/processes/", {"version": 1})
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
        assert other("GET", "/messages/").status_code == 200
