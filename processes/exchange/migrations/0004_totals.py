import datetime

import django.db.models.deletion
from django.db import migrations, models

# What an hour's totals are made of: the accepted messages, the settled ones, the deadlocks. A row that is younger than
# half an hour belongs to an hour that is not counted yet, so in the usual course of a message no trigger fires.
OLD = "now() - interval '30 minutes'"
TOUCH = """
CREATE FUNCTION exchange_touch_hours(VARIADIC times timestamptz[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO exchange_touchedhour (at)
    SELECT DISTINCT date_trunc('hour', touched.at, 'UTC') FROM unnest(times) AS touched (at)
    WHERE touched.at < now() - interval '30 minutes'
$$
"""
FUNCTIONS = {
    "message_inserted": "PERFORM exchange_touch_hours(NEW.accepted_at, NEW.settled_at)",
    "message_deleted": "PERFORM exchange_touch_hours(OLD.accepted_at, OLD.settled_at)",
    "message_updated": (
        "PERFORM exchange_touch_hours(OLD.accepted_at, NEW.accepted_at, OLD.settled_at, NEW.settled_at)"
    ),
    "entry_inserted": "PERFORM exchange_touch_hours(NEW.prepared_at)",
    "entry_deleted": "PERFORM exchange_touch_hours(OLD.prepared_at)",
    "entry_updated": "PERFORM exchange_touch_hours(OLD.prepared_at, NEW.prepared_at)",
}
COUNTED = ("direction", "size", "accepted_at", "device_id", "subsystem_id", "database_id", "enterprise_id")


def _distinct(*columns):
    old, new = (", ".join(f"{side}.{column}" for column in columns) for side in ("OLD", "NEW"))
    return f"(({old}) IS DISTINCT FROM ({new}))"


def _old(*times):
    return "(" + " OR ".join(f"{time} < {OLD}" for time in times) + ")"


DEADLOCK = "{side}.result = 'PROCESSED_DEADLOCK'"
TRIGGERS = {
    "message_inserted": ("INSERT", "messaging_message", _old("NEW.accepted_at", "NEW.settled_at")),
    "message_deleted": ("DELETE", "messaging_message", _old("OLD.accepted_at", "OLD.settled_at")),
    "message_updated": (
        "UPDATE",
        "messaging_message",
        f"{_distinct('status', 'settled_at')} AND {_old('OLD.settled_at', 'NEW.settled_at')}"
        # Whether a reply counts depends on its status, whenever it was accepted.
        f" OR NEW.direction = 'reply' AND OLD.status <> NEW.status AND {_old('OLD.accepted_at')}"
        f" OR {_distinct(*COUNTED)}"
        f" AND {_old('OLD.accepted_at', 'NEW.accepted_at', 'OLD.settled_at', 'NEW.settled_at')}",
    ),
    "entry_inserted": (
        "INSERT", "exchange_processmessage", f"{DEADLOCK.format(side='NEW')} AND {_old('NEW.prepared_at')}"
    ),
    "entry_deleted": (
        "DELETE", "exchange_processmessage", f"{DEADLOCK.format(side='OLD')} AND {_old('OLD.prepared_at')}"
    ),
    "entry_updated": (
        "UPDATE",
        "exchange_processmessage",
        f"({DEADLOCK.format(side='OLD')} OR {DEADLOCK.format(side='NEW')})"
        f" AND {_distinct('result', 'prepared_at', 'message_id')} AND {_old('OLD.prepared_at', 'NEW.prepared_at')}",
    ),
}


def make_triggers(apps, schema_editor):
    # On SQLite statistics are counted from the rows.
    if schema_editor.connection.vendor != "postgresql":
        return
    schema_editor.execute(TOUCH)
    for name, body in FUNCTIONS.items():
        schema_editor.execute(
            f"CREATE FUNCTION exchange_{name}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {body}; RETURN NULL; END $$"
        )
        event, table, condition = TRIGGERS[name]
        schema_editor.execute(
            f"CREATE TRIGGER exchange_{name} AFTER {event} ON {table} FOR EACH ROW "
            f"WHEN ({condition}) EXECUTE FUNCTION exchange_{name}()"
        )


def drop_triggers(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for name, (_, table, _) in TRIGGERS.items():
        schema_editor.execute(f"DROP TRIGGER exchange_{name} ON {table}")
        schema_editor.execute(f"DROP FUNCTION exchange_{name}()")
    schema_editor.execute("DROP FUNCTION exchange_touch_hours(timestamptz[])")


class Migration(migrations.Migration):

    dependencies = [
        ('exchange', '0003_words'),
        ('messaging', '0010_search_by_id'),
    ]

    operations = [
        migrations.CreateModel(
            name='CountedSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('length', models.CharField(choices=[('hour', 'Hour'), ('day', 'Day')], max_length=4)),
                ('at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('at', 'length'), name='span_counted_once')],
            },
        ),
        migrations.CreateModel(
            name='TouchedHour',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['at'], name='touched_hour_at')],
            },
        ),
        migrations.CreateModel(
            name='SpanTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(max_length=10)),
                ('party', models.CharField(max_length=64)),
                ('sent', models.BigIntegerField(default=0)),
                ('bytes', models.BigIntegerField(default=0)),
                ('replies', models.BigIntegerField(default=0)),
                ('reply_bytes', models.BigIntegerField(default=0)),
                ('settled', models.BigIntegerField(default=0)),
                ('processed', models.BigIntegerField(default=0)),
                ('incorrect', models.BigIntegerField(default=0)),
                ('waited', models.DurationField(default=datetime.timedelta)),
                ('deadlocks', models.BigIntegerField(default=0)),
                ('span', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='totals', to='exchange.countedspan')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('span', 'by', 'party'), name='span_total_once')],
            },
        ),
        migrations.RunPython(make_triggers, drop_triggers),
    ]
