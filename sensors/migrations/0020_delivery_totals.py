import datetime

import django.db.models.deletion
from django.db import migrations, models

# A row that is younger than half an hour belongs to an hour that is not counted yet, so where a client answers no mark
# is written. Many attempts are recorded by one statement, whose hours are written once.
FUNCTIONS = {
    "delivery_changed": """
        INSERT INTO sensors_toucheddeliveryhour (at) VALUES (date_trunc('hour', NEW.created_at, 'UTC'))
    """,
    "delivery_attempted": """
        INSERT INTO sensors_toucheddeliveryhour (at)
        SELECT DISTINCT date_trunc('hour', delivery.created_at, 'UTC')
        FROM attempted JOIN notifications_delivery AS delivery ON delivery.id = attempted.delivery_id
        WHERE delivery.created_at < now() - interval '30 minutes'
    """,
}
TRIGGERS = {
    "delivery_changed": """
        AFTER UPDATE ON notifications_delivery FOR EACH ROW
        WHEN (OLD.status <> NEW.status AND NEW.created_at < now() - interval '30 minutes')
    """,
    "delivery_attempted": """
        AFTER INSERT ON notifications_attempt REFERENCING NEW TABLE AS attempted FOR EACH STATEMENT
    """,
}
TABLES = {"delivery_changed": "notifications_delivery", "delivery_attempted": "notifications_attempt"}


def make_triggers(apps, schema_editor):
    # On SQLite statistics are counted from the rows.
    if schema_editor.connection.vendor != "postgresql":
        return
    for name, body in FUNCTIONS.items():
        schema_editor.execute(
            f"CREATE FUNCTION sensors_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NULL; END $$"
        )
        schema_editor.execute(f"CREATE TRIGGER sensors_{name} {TRIGGERS[name]} EXECUTE FUNCTION sensors_{name}()")


def drop_triggers(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for name, table in TABLES.items():
        schema_editor.execute(f"DROP TRIGGER sensors_{name} ON {table}")
        schema_editor.execute(f"DROP FUNCTION sensors_{name}()")


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0019_ways_in_by_node'),
        ('notifications', '0019_endpoints_off'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeliverySpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('length', models.CharField(choices=[('hour', 'Hour'), ('day', 'Day')], max_length=4)),
                ('at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('at', 'length'), name='delivery_span_counted_once')],
            },
        ),
        migrations.CreateModel(
            name='TouchedDeliveryHour',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['at'], name='touched_delivery_hour_at')],
            },
        ),
        migrations.CreateModel(
            name='DeliveryTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pending', models.BigIntegerField(default=0)),
                ('delivered', models.BigIntegerField(default=0)),
                ('superseded', models.BigIntegerField(default=0)),
                ('dead', models.BigIntegerField(default=0)),
                ('cancelled', models.BigIntegerField(default=0)),
                ('attempts', models.BigIntegerField(default=0)),
                ('successes', models.BigIntegerField(default=0)),
                ('waited', models.DurationField(default=datetime.timedelta)),
                ('client', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sensors.client')),
                ('span', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='totals', to='sensors.deliveryspan')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('span', 'client'), name='delivery_total_once')],
            },
        ),
        migrations.RunPython(make_triggers, drop_triggers),
    ]
