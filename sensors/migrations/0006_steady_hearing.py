from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0005_untold_losses'),
    ]

    operations = [
        migrations.CreateModel(
            name='SteadyClock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ahead_ms', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='hearing',
            name='hearing_is_one_row',
        ),
        migrations.AddField(
            model_name='hearing',
            name='proven_from',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='sensorstate',
            name='heard_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name='probe',
            name='passed_at',
            field=models.DateTimeField(),
        ),
        migrations.AddConstraint(
            model_name='hearing',
            constraint=models.CheckConstraint(condition=models.Q(('id__in', [1, 2])), name='hearing_has_two_ears'),
        ),
        migrations.AddConstraint(
            model_name='steadyclock',
            constraint=models.CheckConstraint(condition=models.Q(('id', 1)), name='steady_clock_is_one_row'),
        ),
    ]
