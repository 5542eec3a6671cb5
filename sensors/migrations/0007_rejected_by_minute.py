from django.db import migrations, models


class Migration(migrations.Migration):
    """The key begins with the minute: recording reads what a minute holds, and the watch for storms sums it."""

    dependencies = [
        ('sensors', '0006_steady_hearing'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='rejectedsignal',
            name='rejected_folded_by_minute',
        ),
        migrations.AddConstraint(
            model_name='rejectedsignal',
            constraint=models.UniqueConstraint(
                fields=('recorded_at', 'code', 'sensor_id'), name='rejected_folded_by_minute'
            ),
        ),
    ]
