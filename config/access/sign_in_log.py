"""Sign-ins in the log: who came in, what failed, what is locked.

A name is written only if an account has it: in the field of the name stands, by mistake, many a password.
"""

import hashlib
from datetime import datetime

from django.contrib.auth.models import User
from django.utils.translation import gettext_noop

from config.access.sign_in_limits import Reservation, Visitor
from config.audit.log import NewLogEntry, write_log_entries, write_log_entry
from config.records.models import LogEntry

SIGNED_IN = gettext_noop("%(name)s signed in from %(network)s")
FAILED = gettext_noop("A sign-in as %(name)s from %(network)s failed")
FAILED_WITHOUT_ACCOUNT = gettext_noop("A sign-in from %(network)s failed: no such account")
LOCKED_NAME = gettext_noop("Sign-ins as %(name)s are blocked until %(until)s: too many failed attempts")
LOCKED_NAME_HERE = gettext_noop(
    "Sign-ins as %(name)s from %(network)s are blocked until %(until)s: too many failed attempts"
)
LOCKED_NETWORK = gettext_noop("Sign-ins from %(network)s are blocked until %(until)s: too many failed attempts")
LOCKED_ALL = gettext_noop("Sign-ins from unknown browsers are blocked until %(until)s: too many failed attempts")

# By whether a counter is of one name, and of one network.
LOCK_TEMPLATES = {
    (True, True): LOCKED_NAME_HERE,
    (True, False): LOCKED_NAME,
    (False, True): LOCKED_NETWORK,
    (False, False): LOCKED_ALL,
}


def record_sign_in(visitor: Visitor, user: User) -> None:
    write_log_entry(
        level=LogEntry.Level.INFO,
        kind=LogEntry.Kind.ACCOUNT,
        template=SIGNED_IN,
        subject=f"account/{user.pk}",
        data={"name": user.get_username(), "network": visitor.network},
    )


def record_failure(visitor: Visitor, reservation: Reservation, *, at: datetime) -> None:
    """Write the failure, counted with those of its minute, and what it has locked.

    Only attempts that were let through come here, so a flood of guesses writes no more than the limits allow.
    """
    user = User.objects.filter(username__iexact=visitor.name).first()
    data = {"network": visitor.network} | ({} if user is None else {"name": user.get_username()})
    subject = "" if user is None else f"account/{user.pk}"
    template = FAILED_WITHOUT_ACCOUNT if user is None else FAILED
    minute = at.replace(second=0, microsecond=0).isoformat()
    fold = hashlib.sha256("\n".join(["sign-in", minute, subject, visitor.network]).encode()).hexdigest()
    failure = NewLogEntry(LogEntry.Level.WARNING, LogEntry.Kind.ACCOUNT, template, data, subject, at, fold=fold)
    data = data | {"until": (at + reservation.wait).isoformat(timespec="seconds")}
    locks = []
    for counter in reservation.reached:
        if user is not None or not counter.name:
            template = LOCK_TEMPLATES[bool(counter.name), bool(counter.address)]
            locks.append(NewLogEntry(LogEntry.Level.WARNING, LogEntry.Kind.ACCOUNT, template, data, subject, at))
    write_log_entries([failure, *locks])
