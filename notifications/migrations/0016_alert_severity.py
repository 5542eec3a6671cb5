from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CRITICAL = (
    "amqp.parking_full",
    "coordination.audit",
    "coordination.away",
    "coordination.compensation",
    "engine.down",
    "exchange.contradiction",
    "exchange.failed",
    "exchange.in_doubt",
    "history.spool_large",
    "message.file",
    "storage.failed",
    "storage.low",
    "storage.volume",
    "thread.failing",
)
NOTICE = ("message.foreign_files", "test")


def fill_severity(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    alerts = apps.get_model("notifications", "Alert").objects.using(schema_editor.connection.alias)
    alerts.filter(kind__in=CRITICAL).update(severity=1)
    alerts.filter(kind__in=NOTICE).update(severity=3)


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0015_events_by_minute'),
    ]

    operations = [
        # With a default of the database: while nodes are replaced one by one, older ones raise alerts without it.
        migrations.AddField(
            model_name='alert',
            name='severity',
            field=models.PositiveSmallIntegerField(choices=[(1, 'critical'), (2, 'warning'), (3, 'notice')], db_default=2, default=2, verbose_name='severity'),
        ),
        migrations.RunPython(fill_severity, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('status', 'resolved'), _negated=True), fields=['-status', 'severity', 'id'], name='alert_severity'),
        ),
    ]
