"""The one table of hourly and daily upkeep.

`prepare` puts it into the tables of django-celery-beat, where staff may change the times or switch an entry off. No
promise to the outside rests on it: what must happen within seconds is work of the scheduler.
"""

from dataclasses import dataclass

from celery.schedules import crontab
from django.utils.module_loading import import_string


@dataclass(frozen=True)
class Upkeep:
    """A function without arguments that is safe to run twice, at once, late or not at all for a day."""

    name: str
    function: str
    """Where it is: the dotted path."""
    at: crontab
    sentence: str
    """What it is for, as staff read it."""
    when_prepared: bool = False
    """Run it also whenever a node is prepared for its start."""

    def run(self) -> None:
        import_string(self.function)()


SCHEDULE = (
    Upkeep(
        name="forget_old_answers",
        function="config.records.retention.expire_answers",
        at=crontab(minute="7"),
        sentence="Delete stored answers to repeated calls after a day, and sign-ins, failed or not, that are over.",
    ),
    Upkeep(
        name="forget_old_log",
        function="config.records.retention.expire_log",
        at=crontab(minute="53", hour="1"),
        sentence="Delete entries of the log older than RETENTION_DAYS; those of exchange processes stay.",
    ),
    Upkeep(
        name="forget_old_changes",
        function="config.records.retention.expire_changes",
        at=crontab(minute="57", hour="1"),
        sentence="Delete lines of the change log older than CHANGE_DAYS; those that are still needed stay.",
    ),
    Upkeep(
        name="keep_partitions",
        function="notifications.services.retention.expire_events",
        at=crontab(minute="23", hour="1"),
        sentence="Create the daily partitions of the coming days and drop those that are too old.",
        when_prepared=True,
    ),
    Upkeep(
        name="keep_attempts",
        function="notifications.services.retention.expire_attempts",
        at=crontab(minute="26", hour="1"),
        sentence="Create the coming days' partitions of delivery attempts and drop those older than ATTEMPT_DAYS.",
        when_prepared=True,
    ),
    Upkeep(
        name="forget_old_deliveries",
        function="notifications.services.retention.expire_deliveries",
        at=crontab(minute="47", hour="1"),
        sentence="Delete deliveries that ended more than DELIVERY_DAYS ago; what may still be sent stays.",
    ),
    Upkeep(
        name="forget_old_parked_messages",
        function="notifications.services.retention.expire_parked_messages",
        at=crontab(minute="49", hour="1"),
        sentence="Delete parked messages that were decided more than RETENTION_DAYS ago, and old counts of tries.",
    ),
    Upkeep(
        name="forget_old_alerts",
        function="notifications.services.retention.expire_alerts",
        at=crontab(minute="51", hour="1"),
        sentence="Delete alerts and incidents that were resolved more than RETENTION_DAYS ago; open ones stay.",
    ),
    Upkeep(
        name="keep_rejected",
        function="sensors.services.retention.expire_rejected_signals",
        at=crontab(minute="29", hour="1"),
        sentence="Create the coming days' partitions of rejected signals and drop those older than REJECTED_DAYS.",
        when_prepared=True,
    ),
    Upkeep(
        name="sweep_message_drafts",
        function="messaging.services.retention.sweep_drafts",
        at=crontab(minute="17"),
        sentence="Delete drafts of message files that a crash left behind, and name those that belong to a message.",
        when_prepared=True,
    ),
    Upkeep(
        name="forget_old_message_files",
        function="messaging.services.retention.expire_files",
        at=crontab(minute="33", hour="2"),
        sentence="Delete message files that have lain in Log, Error, Unknown or Prepared for RETENTION_DAYS.",
        when_prepared=True,
    ),
    Upkeep(
        name="report_foreign_files",
        function="messaging.services.retention.report_foreign_files",
        at=crontab(minute="53", hour="2"),
        sentence="Tell of files in the message folders that are no messages; they are left alone.",
    ),
    Upkeep(
        name="forget_old_history",
        function="sensors.services.retention.expire_history",
        at=crontab(minute="41", hour="2"),
        sentence="Drop the months of sensor history that are older than HISTORY_RETENTION_MONTHS.",
    ),
    Upkeep(
        name="forget_old_workflows",
        function="processes.workflows.services.retention.expire_workflows",
        at=crontab(minute="11", hour="3"),
        sentence="Delete workflow instances that ended more than FINISHED_INSTANCE_DAYS ago, and ids of old events.",
    ),
    Upkeep(
        name="audit_coordination",
        function="processes.coordination.maintenance.audit.audit",
        at=crontab(minute="37"),
        sentence="Compare what Writer, Coordinator and readers have of each event, and tell of what does not agree.",
    ),
    Upkeep(
        name="slim_coordination",
        function="processes.coordination.maintenance.retention.slim_committed_events",
        at=crontab(minute="47"),
        sentence="Delete the copies and commit rows of events of coordination that were committed over an hour ago.",
    ),
    Upkeep(
        name="forget_old_coordination",
        function="processes.coordination.maintenance.retention.expire_events",
        at=crontab(minute="27", hour="3"),
        sentence="Delete events of coordination that ended more than RETENTION_DAYS ago.",
    ),
)


def get_upkeep(name: str) -> Upkeep:
    return next(upkeep for upkeep in SCHEDULE if upkeep.name == name)
