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
        sentence="Delete answers kept for repeated calls after a day, expired sign-ins and counters of failed ones.",
    ),
    Upkeep(
        name="forget_old_log",
        function="config.records.retention.expire_log",
        at=crontab(minute="53", hour="1"),
        sentence="Delete log entries older than RETENTION_DAYS; those of exchange processes stay.",
    ),
    Upkeep(
        name="forget_old_changes",
        function="config.records.retention.expire_changes",
        at=crontab(minute="57", hour="1"),
        sentence="Delete registry changes older than CHANGE_DAYS; those still needed stay.",
    ),
    Upkeep(
        name="keep_partitions",
        function="notifications.services.retention.expire_events",
        at=crontab(minute="23", hour="1"),
        sentence="Create the daily partitions for the coming days and drop those that are too old.",
        when_prepared=True,
    ),
    Upkeep(
        name="keep_attempts",
        function="notifications.services.retention.expire_attempts",
        at=crontab(minute="26", hour="1"),
        sentence="Create partitions of delivery attempts for the coming days and drop those older than ATTEMPT_DAYS.",
        when_prepared=True,
    ),
    Upkeep(
        name="forget_old_deliveries",
        function="notifications.services.retention.expire_deliveries",
        at=crontab(minute="47", hour="1"),
        sentence="Delete deliveries that ended more than DELIVERY_DAYS ago; those that may still be sent stay.",
    ),
    Upkeep(
        name="forget_old_parked_messages",
        function="notifications.services.retention.expire_parked_messages",
        at=crontab(minute="49", hour="1"),
        sentence="Delete parked messages that were decided more than RETENTION_DAYS ago, and old retry counters.",
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
        sentence="Create partitions of rejected signals for the coming days and drop those older than REJECTED_DAYS.",
        when_prepared=True,
    ),
    Upkeep(
        name="forget_old_links",
        function="sensors.services.retention.expire_link_records",
        at=crontab(minute="59", hour="1"),
        sentence="Delete records of links between sensors and clients that are older than CHANGE_DAYS.",
    ),
    Upkeep(
        name="sweep_message_drafts",
        function="messaging.services.retention.sweep_drafts",
        at=crontab(minute="17"),
        sentence="Delete drafts of message files that a crash left behind, and give those that belong to a message "
        "their name.",
        when_prepared=True,
    ),
    Upkeep(
        name="forget_old_message_files",
        function="messaging.services.retention.expire_files",
        at=crontab(minute="33", hour="2"),
        sentence="Delete message files that have been in Log, Error, Unknown or Prepared for RETENTION_DAYS.",
        when_prepared=True,
    ),
    Upkeep(
        name="count_exchange",
        function="processes.exchange.services.totals.count_finished_spans",
        at=crontab(minute="3"),
        sentence="Count the hours and days of message exchange that are over, for the statistics.",
    ),
    Upkeep(
        name="count_deliveries",
        function="sensors.services.delivery_totals.count_finished_deliveries",
        at=crontab(minute="7"),
        sentence="Count the deliveries of hours and days that are over, for the statistics by client.",
    ),
    Upkeep(
        name="report_foreign_files",
        function="messaging.services.retention.report_foreign_files",
        at=crontab(minute="53", hour="2"),
        sentence="Report files in the message folders that are not messages; they are left untouched.",
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
        name="report_dead_ends",
        function="processes.workflows.services.dead_ends.report_dead_ends",
        at=crontab(minute="41", hour="3"),
        sentence="Open an incident for each workflow instance in which nothing can ever move again.",
    ),
    Upkeep(
        name="audit_coordination",
        function="processes.coordination.maintenance.audit.audit",
        at=crontab(minute="37"),
        sentence="Compare what the Writer, the Coordinator and the readers hold of each change set, and report "
        "differences.",
    ),
    Upkeep(
        name="slim_coordination",
        function="processes.coordination.maintenance.retention.slim_committed_events",
        at=crontab(minute="47"),
        sentence="Delete the copies and commit rows of change sets that were committed over an hour ago.",
    ),
    Upkeep(
        name="forget_old_coordination",
        function="processes.coordination.maintenance.retention.expire_events",
        at=crontab(minute="27", hour="3"),
        sentence="Delete change sets that ended more than RETENTION_DAYS ago.",
    ),
)


def get_upkeep(name: str) -> Upkeep:
    return next(upkeep for upkeep in SCHEDULE if upkeep.name == name)
