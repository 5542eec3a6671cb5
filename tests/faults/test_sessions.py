"""Sessions under fire: random times, handlers that misbehave, schedulers killed. Each ends as its script says."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.inside_product import enqueue_scripted_sessions
from tests.faults.process_group import ProcessGroup
from tests.faults.product import migrated_database
from tests.faults.scripted.handler import HANG_SECONDS, LOG
from tests.faults.wait import wait_until

pytestmark = [pytest.mark.timeout(1800)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SESSIONS = int((100_000 if SCALE >= 1 else 30_000) * SCALE)
KILLS = max(2, int(40 * SCALE))
PATIENCE = 60 + 1500 * SCALE
TIMES = 2 + 100 * SCALE
"""Over how many seconds the first repeats are spread."""
GROUP = 50

PATIENT, STRICT, HASTY = 1, 2, 3
LIMIT = 2
# For each script: its theme, its share, and what becomes of its sessions.
SCRIPTS = {
    "succeed": (PATIENT, 0.6, "deleted"),
    "fail_once": (PATIENT, 0.1, "deleted"),
    "append": (PATIENT, 0.1, "deleted"),
    "overflow": (PATIENT, 0.05, "deleted"),
    "fail": (STRICT, 0.1, "exhausted"),
    "hang": (HASTY, 0.005, "exhausted"),
}
WAITING = 0.045


@pytest.fixture
def group(tmp_path: Path, servers: Any) -> Iterator[ProcessGroup]:
    with migrated_database(servers.database) as database:
        made = ProcessGroup(
            tmp_path,
            DATABASE_URL=database,
            DJANGO_SETTINGS_MODULE="tests.faults.scripted.settings",
            LOG_LEVEL="ERROR",
            **{LOG: str(tmp_path / "repeats")},
        )
        with psycopg.connect(database) as connection:
            for number, timeout, limit in ((PATIENT, 60, 1000), (STRICT, 60, LIMIT), (HASTY, 0.5, LIMIT)):
                connection.execute(
                    "INSERT INTO notifications_theme (number, timeout, repeat_limit, length_limit, delay, jitter, "
                    "handler, url) VALUES (%s, %s, %s, 500, 0.5, 0.5, 'scripted', '')",
                    [number, timeout, limit],
                )
        yield made
        made.end()


def sessions(group: ProcessGroup, where: str = "true") -> dict[int, tuple[str, str, int]]:
    """Return script, status and repeats by id."""
    rows = group.rows(
        "SELECT id, (SELECT body FROM notifications_sessionrecord WHERE session_id = session.id AND position = 0), "
        f"status, repeats FROM notifications_repeatsession AS session WHERE {where}"
    )
    return {pk: (script.strip('"'), status, repeats) for pk, script, status, repeats in rows}


def repeats(group: ProcessGroup) -> list[int]:
    log = Path(group.product.environment[LOG])
    return [int(text) for text in log.read_text().split()] if log.exists() else []


def is_over(group: ProcessGroup) -> bool:
    query = "SELECT 1 FROM notifications_repeatsession WHERE status = 'active' OR due_at < now() + interval '1 hour'"
    return not group.rows(f"{query} LIMIT 1")


def test_each_ends_as_its_script_says_though_schedulers_are_killed(group: ProcessGroup) -> None:
    chance = random.Random(5)
    groups = [
        (theme, script, min(GROUP, wanted - first), chance.uniform(0, TIMES))
        for script, (theme, share, _) in SCRIPTS.items()
        for wanted in [max(1, int(SESSIONS * share))]
        for first in range(0, wanted, GROUP)
    ]
    chance.shuffle(groups)
    group.call(enqueue_scripted_sessions, [*groups, (PATIENT, "succeed", int(SESSIONS * WAITING), 86_400.0)])
    before = sessions(group)
    waiting = set(sessions(group, "due_at > now() + interval '1 hour'"))
    for name in ("one", "two"):
        group.start(name, "run_scheduler")
    assert wait_until(lambda: len(repeats(group)) > SESSIONS // 20, 60), group.logs()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.3, 2))
        name = chance.choice(["one", "two"])
        group.kill(name)
        group.start(name, "run_scheduler")
    assert wait_until(lambda: is_over(group), PATIENCE), group.logs()
    after = sessions(group)
    assert {pk: after[pk] for pk in waiting} == {pk: ("succeed", "saved", 0) for pk in waiting}
    wanted = {pk: script for pk, (script, _, _) in before.items() if pk not in waiting}
    exhausted = {pk for pk, script in wanted.items() if SCRIPTS[script][2] == "exhausted"}
    assert after.keys() - waiting == exhausted, "deleted are all the others, and no more"
    assert {after[pk][1:] for pk in exhausted} == {("exhausted", LIMIT)}
    assert wanted.keys() == set(repeats(group))
    check_traces(group, exhausted)


def check_traces(group: ProcessGroup, exhausted: set[int]) -> None:
    """Each exhaustion was told once; nothing of a deleted session is left."""
    events = group.rows("SELECT subject FROM notifications_event WHERE type = 'session.exhausted'")
    assert Counter(subject for (subject,) in events) == Counter(f"session/{pk}" for pk in exhausted)
    alerts = group.rows("SELECT subject, count FROM notifications_alert WHERE kind = 'session.exhausted'")
    assert {subject for subject, _ in alerts} == {f"theme/{STRICT}", f"theme/{HASTY}"}
    assert sum(count for _, count in alerts) == len(exhausted)
    orphans = "SELECT count(*) FROM {} AS part WHERE session_id NOT IN (SELECT id FROM notifications_repeatsession)"
    for table in ("notifications_sessionrecord", "notifications_sessionstep"):
        assert group.rows(orphans.format(table)) == [(0,)]


def test_a_scheduler_that_was_paused_past_its_lease_cannot_write(group: ProcessGroup) -> None:
    group.call(enqueue_scripted_sessions, [(STRICT, "pause", 1, 0.0)])
    group.start("one", "run_scheduler")
    assert wait_until(lambda: len(repeats(group)) == 1, 60), group.logs()
    group.processes["one"].send_signal(signal.SIGSTOP)
    group.start("two", "run_scheduler")
    assert wait_until(lambda: is_over(group), 60), group.logs()
    row = "SELECT *, (SELECT count(*) FROM notifications_sessionrecord) FROM notifications_repeatsession"
    before = group.rows(row)
    assert list(sessions(group).values()) == [("pause", "exhausted", LIMIT)]
    group.processes["one"].send_signal(signal.SIGCONT)
    time.sleep(HANG_SECONDS + 1)
    assert group.rows(row) == before
    assert len(repeats(group)) == 2


def test_first_repeats_go_by_time_then_by_saving(group: ProcessGroup) -> None:
    """With one worker the order can be seen: half of the sessions share a few times."""
    chance = random.Random(9)
    group.call(enqueue_scripted_sessions, [(PATIENT, "succeed", GROUP, 0.0)] * int(SESSIONS / 8 / GROUP))
    with psycopg.connect(group.database) as connection:
        ids = [pk for (pk,) in connection.execute("SELECT id FROM notifications_repeatsession").fetchall()]
        moments = [chance.choice([-500.0, -400.0, -300.0, chance.uniform(-1000, -1)]) for _ in ids]
        connection.execute(
            "UPDATE notifications_repeatsession SET due_at = date_trunc('day', now()) + seconds * interval '1 s' "
            "FROM unnest(%s::bigint[], %s::float8[]) AS each (pk, seconds) WHERE id = pk",
            [ids, moments],
        )
    wanted = group.rows("SELECT id FROM notifications_repeatsession ORDER BY due_at, save_number")
    group.product.environment["SESSION_WORKERS"] = "1"
    group.start("one", "run_scheduler")
    assert wait_until(lambda: is_over(group), PATIENCE), group.logs()
    assert repeats(group) == [pk for (pk,) in wanted]
