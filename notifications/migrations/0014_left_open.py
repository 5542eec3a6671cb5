from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0013_words'),
    ]

    operations = [
        migrations.AlterField(
            model_name='delivery',
            name='family',
            field=models.CharField(choices=[('state', 'state'), ('connection', 'connection'), ('open', 'left open'), ('list', 'list'), ('ping', 'ping'), ('alert', 'alert')], max_length=10, verbose_name='family'),
        ),
    ]
