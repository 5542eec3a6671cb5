"""Insert the row of a new message by one wording for all: every message comes through here."""

from functools import cache

from django.db import connection

from messaging.models import Message


def insert_message(message: Message) -> None:
    """Write the row and give the message its number; a second one under its id raises `IntegrityError`."""
    values = [
        field.get_db_prep_save(getattr(message, field.attname), connection)
        for field in Message._meta.local_concrete_fields
        if not field.primary_key
    ]
    with connection.cursor() as cursor:
        cursor.execute(_statement(), values)
        (message.pk,) = cursor.fetchone()


@cache
def _statement() -> str:
    names = [f'"{field.column}"' for field in Message._meta.local_concrete_fields if not field.primary_key]
    places = ", ".join(["%s"] * len(names))
    return f'INSERT INTO "{Message._meta.db_table}" ({", ".join(names)}) VALUES ({places}) RETURNING id'
