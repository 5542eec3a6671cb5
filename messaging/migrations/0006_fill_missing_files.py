"""What was given up for a missing file before there was a column for it: staff may bring that back as well."""

from django.db import migrations
from django.db.models import F, Q


def fill(apps, schema_editor):
    messages = apps.get_model('messaging', 'Message').objects.using(schema_editor.connection.alias)
    # Retention deletes no file of the queue, and what the ERP called incorrect has a code of the ERP's.
    given_up = messages.filter(Q(error_code='unreadable') | Q(folder='Messages'), file_gone_at__isnull=False)
    given_up.update(file_missing_at=F('file_gone_at'))


class Migration(migrations.Migration):

    dependencies = [
        ('messaging', '0005_missing_files'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
