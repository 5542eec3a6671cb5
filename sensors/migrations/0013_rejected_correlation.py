from django.db import migrations, models


class Migration(migrations.Migration):
    """A trace begins with what was refused, too."""

    dependencies = [
        ('sensors', '0012_search_by_part'),
    ]

    operations = [
        migrations.AddField(
            model_name='rejectedsignal',
            name='correlation_id',
            field=models.CharField(blank=True, db_default='', max_length=64, verbose_name='correlation id'),
        ),
        migrations.AddIndex(
            model_name='rejectedsignal',
            index=models.Index(
                condition=models.Q(('correlation_id', ''), _negated=True),
                fields=['correlation_id'],
                name='rejected_correlation',
            ),
        ),
    ]
