from django.db import migrations, models


class Migration(migrations.Migration):
    """Receivers see an id that no restored sequence gives again.

    Rows that are there keep their number as the id: the receiver may have seen it, and removes repeats by it.
    """

    dependencies = [
        ("notifications", "0009_parked_messages"),
    ]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="message_id",
            field=models.UUIDField(editable=False, null=True, unique=True),
        ),
    ]
