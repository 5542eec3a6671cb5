from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('coordination_reader', '0002_numbers_as_foreign_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='appeventcommitforsensor',
            name='open_limit',
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name='appeventrollbackforsensor',
            name='open_limit',
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name='sensor',
            name='open_limit',
            field=models.IntegerField(null=True),
        ),
    ]
