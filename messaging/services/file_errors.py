"""Report a message file that is not as it should be: an alert, and an entry of the log."""

import hashlib

from django.utils import timezone

from config.audit.log import NewLogEntry, write_log_entries
from config.records.models import LogEntry
from messaging.files.names import name_of
from messaging.models import Message
from messaging.subjects import subject_of
from notifications.services.alerts import raise_alert

KIND = "message.file"


def report_file_error(message: Message, title: str, reason: str) -> None:
    """Raise the alert and write the log, in the caller's transaction.

    `title` may contain `%(name)s`, `%(database)s` and `%(reason)s`.
    """
    detail = {"name": name_of(message), "database": message.database_id, "reason": reason, "message": message.public_id}
    subject = subject_of(message)
    raise_alert(KIND, subject, title, detail)
    # A move that fails is tried every few seconds: one entry a day is enough.
    once = f"{subject} {timezone.now():%Y%m%d} {title}"
    fold = hashlib.sha256(once.encode()).hexdigest()
    write_log_entries([NewLogEntry(LogEntry.Level.ERROR, "file", title, detail, subject, fold=fold)])
