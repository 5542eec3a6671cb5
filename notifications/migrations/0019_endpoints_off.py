from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0018_door_changes'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(condition=models.Q(('paused', True), ('active', False), _connector='OR'), fields=['-id'], name='endpoint_off'),
        ),
    ]
