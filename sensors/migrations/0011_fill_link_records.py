"""Links that were made and ended before there were records of them: the change log has each."""

from django.db import migrations

STEP = 2000


def fill(apps, schema_editor):
    alias = schema_editor.connection.alias
    changes = apps.get_model('records', 'ChangeRecord').objects.using(alias).filter(kind='sensor')
    records = apps.get_model('sensors', 'LinkRecord')
    last = 0
    while step := list(changes.filter(pk__gt=last).order_by('pk').values_list('pk', 'at', 'object_id', 'before', 'after')[:STEP]):
        records.objects.using(alias).bulk_create(
            records(at=at, sensor_id=sensor_id, client_id=client_id, is_linked=client_id in new)
            for _, at, sensor_id, before, after in step
            for old, new in [[set((side or {}).get('clients', ())) for side in (before, after)]]
            for client_id in sorted(old ^ new)
        )
        last = step[-1][0]


class Migration(migrations.Migration):

    dependencies = [
        ('records', '0004_account_log'),
        ('sensors', '0010_link_records'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
