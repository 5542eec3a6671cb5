"""One repeat of one session: take operations from its handler, carry them out one by one, answer each.

Every write is made under the fence of the claim, so a worker that was suspended past its lease is refused at its next
operation. The caller decides how an outcome is recorded: at once, or together with those of other workers.
"""

import threading
import time
from typing import Protocol

import structlog
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.database.leases import LeaseLost, finish, lease_clock, renew
from config.common.encryption import decrypt
from config.common.errors import ApplicationError
from notifications.errors import SessionCode, SessionError
from notifications.sending.secret_rotation import find_old_secret
from notifications.sessions.claims import LEASE, Claim
from notifications.sessions.handlers import RepeatHandler, SessionView, make_handler
from notifications.sessions.lifecycle import append_to_locked, rewrite_locked
from notifications.sessions.operations import (
    Append,
    Delete,
    Finish,
    Operation,
    RefuseReason,
    Rewrite,
    Verdict,
    make_verdict,
)
from notifications.sessions.outcomes import Outcome, Result, record_outcomes
from notifications.sessions.presentation import describe
from notifications.sessions.storage import decode_record, encode_records

MOST_OPERATIONS = 1000

log = structlog.get_logger(__name__)


class Settle(Protocol):
    def __call__(self, outcome: Outcome, *, wait: bool) -> bool:
        """Record an outcome; return whether the claim still stood, which is known only with `wait`."""


def settle_now(outcome: Outcome, *, wait: bool) -> bool:
    """Record an outcome in this thread."""
    return bool(record_outcomes([outcome]))


class Repeat:
    """A repeat that runs in one thread and is watched by others."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.touched = time.monotonic()
        """When it began, or had its last operation."""
        self.is_stopping = False
        self._handler: RepeatHandler | None = None
        self._verdicts: list[Verdict] = []
        self._writing = threading.Lock()

    def run(self, settle: Settle) -> None:
        """Run the handler to its end and settle the outcome; any exception of a handler is a failure."""
        self.touched = time.monotonic()
        try:
            self._handler = _make_handler(self.claim)
            for _ in range(MOST_OPERATIONS):
                operation = self._handler.next_operation()
                self.touched = time.monotonic()
                if self._carry_out(operation, settle):
                    return
            failure = f"no end after {MOST_OPERATIONS} operations"
        except Exception as error:  # noqa: BLE001  (whatever it is, the session must not wait for its lease)
            log.info("session.handler_failed", session=self.claim.row.pk, error=repr(error))
            failure = f"{type(error).__name__}: {error}"
        if self.is_stopping:
            self._settle(settle, Result.STOPPED, failure)
        else:
            self._settle(settle, Result.FAILED, failure, is_answer=False)

    def cancel(self) -> None:
        """Ask the handler to end, from another thread."""
        self.is_stopping = True
        handler = self._handler
        if handler is None:
            return
        try:
            handler.cancel()
        except Exception:  # noqa: BLE001  (it is asked, not obeyed)
            log.exception("session.cancel_failed", session=self.claim.row.pk)

    def renew(self) -> None:
        """Extend the lease, unless the worker is just writing; raise `LeaseLost` if somebody else has the session."""
        if self._writing.acquire(blocking=False):
            try:
                renewed_at = lease_clock()
                renew(self.claim.row, lease=LEASE, fence="change")
                self.claim.extend_lease(renewed_at)
            finally:
                self._writing.release()

    def _carry_out(self, operation: Operation | None, settle: Settle) -> bool:
        """Carry out an operation; return whether the repeat is over."""
        if operation is None:
            return self._settle(settle, Result.SUCCEEDED, is_answer=True)
        if isinstance(operation, Delete):
            return self._end(operation, Result.SUCCEEDED, settle)
        if isinstance(operation, Finish):
            return self._end(operation, Result.FAILED, settle)
        if not isinstance(operation, Append):
            raise TypeError(f"{operation!r} is no operation")
        if self.is_stopping:
            operation.cancel()
            return self._settle(settle, Result.STOPPED)
        return self._edit(operation)

    def _end(self, operation: Operation, result: Result, settle: Settle) -> bool:
        """Answer when the outcome is durable: the handler may drop its own copy then."""
        detail = gettext_noop("ended by the handler") if result is Result.FAILED else ""
        outcome = Outcome(self.claim, result, detail, tuple(self._verdicts), is_answer=True)
        if settle(outcome, wait=operation.waits_for_answer):
            operation.acknowledge()
        elif operation.waits_for_answer:
            operation.cancel()
        return True

    def _edit(self, operation: Append) -> bool:
        """Change the records or refuse to; the repeat ends only if the session was lost meanwhile."""
        try:
            with self._writing:
                _edit_records(self.claim, operation)
        except LeaseLost:
            operation.cancel()
            return True
        except ApplicationError as error:
            self._refuse(operation, _reason(error))
        except (DatabaseError, InterfaceError) as error:
            log.warning("session.operation_failed", session=self.claim.row.pk, error=str(error))
            # The connection may have broken after the commit.
            reason = "the database failed; whether the operation was carried out is not known"
            self._refuse(operation, RefuseReason(reason, SessionCode.INTERNAL))
        else:
            self._verdicts.append(make_verdict(operation.op, "acknowledged", "", SessionCode.OK))
            operation.acknowledge()
        self.touched = time.monotonic()
        return False

    def _refuse(self, operation: Operation, reason: RefuseReason) -> None:
        self._verdicts.append(make_verdict(operation.op, "refused", reason.text, reason.session_code))
        operation.refuse(reason)

    def _settle(self, settle: Settle, result: Result, detail: str = "", *, is_answer: bool | None = None) -> bool:
        settle(Outcome(self.claim, result, detail, tuple(self._verdicts), is_answer), wait=False)
        return True


def _make_handler(claim: Claim) -> RepeatHandler:
    row, theme = claim.row, claim.theme
    if theme.handler:
        view = SessionView(row.pk, theme.pk, row.change, claim.records, row.repeats, claim.fence, row.correlation_id)
        return make_handler(theme.handler, view)
    # Only a process that calls webhooks needs the HTTP client, which takes a third of a second to import.
    from notifications.sessions.webhook import WebhookHandler

    secrets = [each for each in (theme.secret, find_old_secret(theme, at=timezone.now())) if each]
    return WebhookHandler(
        url=theme.url,
        secrets=[decrypt(bytes(each)).decode() for each in secrets],
        timeout=theme.timeout,
        fence=claim.fence,
        describe=lambda: describe(row, claim.records),
        held_until=lambda: claim.held_until,
    )


def _edit_records(claim: Claim, operation: Append) -> None:
    """Change the records under the fence; the lease begins anew."""
    bodies = encode_records(operation.records)
    row, edit = claim.row, rewrite_locked if isinstance(operation, Rewrite) else append_to_locked
    row.theme = claim.theme
    renewed_at = lease_clock()
    with transaction.atomic():
        # The fence first: a late worker must not touch the records, not even in a transaction that fails.
        renew(row, lease=LEASE, fence="change")
        changes = edit(row, bodies)
        finish(row, fence="change", change=F("change") + 1, **changes)
    claim.extend_lease(renewed_at)
    row.change += 1
    row.length, row.record_count = changes["length"], changes["record_count"]
    kept = [] if isinstance(operation, Rewrite) else claim.records
    claim.records = [*kept, *map(decode_record, bodies)]


def _reason(error: ApplicationError) -> RefuseReason:
    if isinstance(error, SessionError):
        return RefuseReason(error.message, SessionCode(error.session_code))
    rules = [rule for broken in error.data.get("fields", {}).values() for rule in broken]
    return RefuseReason("; ".join(rules) or error.message, SessionCode.INVALID)
