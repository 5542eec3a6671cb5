from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('coordination', '0007_words'),
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
    ]
