"""Tell staff of a message file that is not as it should be: an alert and a line of the log."""

from config.records.models import LogEntry
from config.records.services.log import write_entry
from messaging.files.names import name_of
from messaging.models import Message
from messaging.naming import subject_of
from notifications.services.alerts import raise_alert

KIND = "message.file"


def tell_file_error(message: Message, title: str, reason: str) -> None:
    """Write it in the caller's transaction; `title` may name `%(name)s`, `%(database)s` and `%(reason)s`."""
    detail = {"name": name_of(message), "database": message.database_id, "reason": reason, "message": message.public_id}
    subject = subject_of(message)
    raise_alert(KIND, subject, title, detail)
    write_entry(level=LogEntry.Level.ERROR, kind="file", subject=subject, template=title, data=detail)
