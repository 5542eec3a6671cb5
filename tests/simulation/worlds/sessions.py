"""Callers and handlers write to repeat sessions, two repeaters repeat them: none lost, one at a time, so many times."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from unittest.mock import patch

from django.db import Error, transaction
from django.test import override_settings

from config.common.background.daemon import Daemon
from notifications.errors import SessionNotFound, StaleChange
from notifications.models import Alert, Event, RepeatSession, Theme
from notifications.sessions import claims, handlers, lifecycle
from notifications.sessions.repeater import repeat_once, rest
from notifications.sessions.storage import SESSIONS, read_records
from notifications.sessions.theme_health import EXHAUSTED
from notifications.subjects import session_subject, theme_subject
from tests.simulation.daemons import run_daemons, simulated_ring
from tests.simulation.repeats import FarSide, Repeat, Write
from tests.simulation.scheduler import Scheduler
from tests.simulation.world import World

THEME, HANDLER = 7, "simulated"
LIMIT = 4
LEASE = claims.LEASE.total_seconds()
EDITS = 2


class SessionsWorld(World):
    name = "sessions"
    seconds = 90.0
    seeds = range(8, 20)

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.far_side = FarSide(scheduler)
        self.sessions: list[int] = []
        """Those whose caller knows their ids."""

    @contextmanager
    def in_place(self) -> Iterator[None]:
        known = {HANDLER: self.far_side.make_handler}
        with (
            simulated_ring(self.scheduler),
            patch.dict(handlers._registered, known),
            override_settings(SESSION_WORKERS=2),
        ):
            yield

    def begin(self) -> None:
        Theme.objects.create(number=THEME, handler=HANDLER, timeout=60.0, repeat_limit=LIMIT, delay=2.0)
        for number in (1, 2):
            self.scheduler.start(f"caller-{number}", lambda number=number: self._call(number))  # type: ignore[misc]
        for number in (1, 2):
            self.scheduler.start(f"repeater-{number}", self._repeat)

    def _repeat(self) -> None:
        run_daemons(self.scheduler, Daemon(repeat_once, 5.0, SESSIONS, lambda: min(rest(), 5.0)))

    def _call(self, number: int) -> None:
        """Create session after session; write to some of them, one's own or another's, while they are there."""
        chance = self.scheduler.chance
        memory = self.far_side.writes
        for count in range(self.size):
            record = f"caller-{number}/{self.scheduler.process().lives}/{count}"
            try:
                session = lifecycle.create_session(
                    theme=THEME, records=[record], delay=None if chance("open") < 0.3 else chance("delay") * 5
                )
            except Error:
                continue
            self.sessions.append(session)
            memory.append(Write(session, record, 1, is_accepted=True))
            for edit in range(EDITS):
                time.sleep(chance("pause") ** 2 * 8)
                chosen = session if chance("which") < 0.7 else self.sessions[int(chance("other") * len(self.sessions))]
                self._edit(chosen, f"{record}/{edit}")

    def _edit(self, session: int, record: str) -> None:
        """Read a session and write to it what follows from that: one's own record, or all of them once more."""
        try:
            with transaction.atomic():
                row = RepeatSession.objects.filter(pk=session).first()
                shown = [str(each) for each in read_records([session]).get(session, [])]
            if row is None:
                return
            time.sleep(self.scheduler.chance("thinks") ** 2)
            write = Write(session, record, row.change + 1)
            self.far_side.writes.append(write)
            try:
                if self.scheduler.chance("rewrites") < 0.5:
                    lifecycle.rewrite_records(session_id=session, change=row.change, records=[*shown, record])
                else:
                    lifecycle.append_records(session_id=session, change=row.change, records=[record])
            except (StaleChange, SessionNotFound):
                self.far_side.writes.remove(write)
            else:
                write.is_accepted = True
        except Error:
            return

    def is_quiet(self) -> bool:
        return not RepeatSession.objects.exclude(status=RepeatSession.Status.EXHAUSTED).exists()

    def check(self) -> Iterator[str]:
        self._repeats = defaultdict[int, list[Repeat]](list)
        self._writes = defaultdict[int, list[Write]](list)
        for repeat in sorted(self.far_side.repeats, key=lambda each: each.fence):
            self._repeats[repeat.session].append(repeat)
        for write in self.far_side.writes:
            self._writes[write.session].append(write)
        left = {row.pk: row for row in RepeatSession.objects.all()}
        records = {number: set(map(str, found)) for number, found in read_records(list(left)).items()}
        for session in self.sessions:
            yield from self._check_kept(session, records.get(session))
        for session, repeats in self._repeats.items():
            yield from self._check_seen(session, repeats)
            yield from self._check_once(session, repeats)
            yield from self._check_end(session, repeats, left.get(session))
        yield from self._check_exhausted(list(left.values()))

    def _check_kept(self, session: int, records: set[str] | None) -> Iterator[str]:
        """Every record that was accepted is there, or was seen by whoever ended the session."""
        accepted = {write.record for write in self._writes[session] if write.is_accepted}
        if records is not None:
            missing = accepted - records
        else:
            ends = [each for each in self._repeats[session] if each.wants_end]
            missing = min((accepted.difference(each.records) for each in ends), key=len, default=accepted)
        for record in sorted(missing):
            yield f"session {session}: {record} was accepted, and whoever ended it has not seen it"

    def _check_seen(self, session: int, repeats: list[Repeat]) -> Iterator[str]:
        """A repeat is shown what was accepted before its claim, each record once."""
        for repeat in repeats:
            if len(set(repeat.records)) < len(repeat.records):
                yield f"session {session}, fence {repeat.fence}: a record twice in {repeat.records}"
            for write in self._writes[session]:
                if write.is_accepted and write.change < repeat.fence and write.record not in repeat.records:
                    yield f"session {session}, fence {repeat.fence} was not shown {write.record} of {write.change}"

    def _check_once(self, session: int, repeats: list[Repeat]) -> Iterator[str]:
        """One repeat at a time, unless a worker stood still or failed, or a caller has taken the session over."""
        for place, earlier in enumerate(repeats):
            for later in repeats[place + 1 :]:
                if earlier.fence == later.fence:
                    yield f"session {session}: fence {later.fence} was given twice"
                if earlier.is_ended:
                    yield f"session {session}: ended by fence {earlier.fence}, and repeated by {later.fence}"
                if later.at >= (earlier.ended_at or later.at) or self._is_excused(session, earlier, later):
                    continue
                yield f"session {session}: fence {later.fence} at {later.at:.3f} while {earlier.fence} was at work"

    def _is_excused(self, session: int, earlier: Repeat, later: Repeat) -> bool:
        if any(earlier.fence < write.change <= later.fence for write in self._writes[session]):
            return True
        since = earlier.at - LEASE
        own = self.was_disturbed(since, later.at, process=earlier.process)
        return own or self.was_disturbed(since, later.at, kinds=("step", "stop"))

    def _check_end(self, session: int, repeats: list[Repeat], row: RepeatSession | None) -> Iterator[str]:
        """No more repeats than the theme allows, not counting those that a caller has made void."""
        void = sum(not write.record.startswith("handler") and write.change > 1 for write in self._writes[session])
        if len(repeats) > LIMIT + void:
            yield f"session {session} was repeated {len(repeats)} times: {LIMIT} allowed, {void} void"
        if row is not None and any(each.is_ended for each in repeats):
            yield f"session {session} was ended, and is still {row.status}"

    def _check_exhausted(self, rows: list[RepeatSession]) -> Iterator[str]:
        for row in rows:
            tries = len(self._repeats[row.pk])
            if tries < LIMIT and not self.was_disturbed(0.0, inf):
                yield f"session {row.pk} is exhausted after {tries} repeats"
            if Event.objects.filter(type=EXHAUSTED, subject=session_subject(row.pk)).count() != 1:
                yield f"session {row.pk} is exhausted, and has not one event of that"
        if rows and not Alert.objects.filter(kind=EXHAUSTED, subject=theme_subject(THEME)).exists():
            yield "sessions are exhausted, and nobody was told"
