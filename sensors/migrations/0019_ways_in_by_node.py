from django.db import migrations, models

QUEUE = 2


def copy_ways_in(apps, schema_editor):
    WayIn = apps.get_model("sensors", "WayIn")
    for old in apps.get_model("sensors", "Hearing").objects.all():
        # Nobody keeps the row of calls of the old release: the first server that runs writes its outage, and drops it.
        name = "queue" if old.pk == QUEUE else "calls/"
        WayIn.objects.create(pk=name, heard_at=old.heard_at, proven_from=old.proven_from)


class Migration(migrations.Migration):
    dependencies = [("sensors", "0018_sensors_of_client")]

    operations = [
        migrations.CreateModel(
            name="WayIn",
            fields=[
                ("name", models.CharField(max_length=126, primary_key=True, serialize=False)),
                ("heard_at", models.DateTimeField()),
                ("proven_from", models.DateTimeField(null=True)),
            ],
        ),
        migrations.RunPython(copy_ways_in, migrations.RunPython.noop, elidable=True),
        migrations.DeleteModel(name="Hearing"),
    ]
