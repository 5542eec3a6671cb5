from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0004_signal_memory'),
    ]

    operations = [
        migrations.AddField(
            model_name='sensorclient',
            name='is_loss_untold',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='sensorclient',
            name='tell_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name='sensorclient',
            index=models.Index(condition=models.Q(('tell_at__isnull', False)), fields=['tell_at'], name='link_tell'),
        ),
        migrations.AddConstraint(
            model_name='sensorclient',
            constraint=models.CheckConstraint(condition=models.Q(('tell_at__isnull', True), ('is_loss_untold', True), _connector='OR'), name='link_tells_only_what_is_untold'),
        ),
    ]
