"""Empty the tables after a test that commits: only those that have rows, and none that `migrate` fills.

Django's own way truncates every table and makes all permissions and groups anew: most of what such a test costs.
"""

from typing import Any

from django.contrib.auth.models import Group
from django.db import connections, router, transaction
from django.test import TransactionTestCase

from config.access.groups import GROUPS
from processes.coordination.schema.fixed_rows import NUMBERS, STATES

KEPT = {
    "django_migrations",
    "django_content_type",
    "auth_permission",
    "auth_group",
    "auth_group_permissions",
    *(model._meta.db_table for model in NUMBERS),
}


def empty_databases(case: TransactionTestCase) -> None:
    """Stands for `TransactionTestCase._fixture_teardown`."""
    for alias in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        empty(alias)


def empty(alias: str) -> None:
    connection = connections[alias]
    tables = _filled(connection)
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")  # in any order, whoever refers to whom
        for table in tables:
            cursor.execute(f'DELETE FROM "{table}"')
        if router.allow_migrate_model(alias, Group):
            Group.objects.using(alias).exclude(name__in=GROUPS).delete()
        for model in STATES:
            if router.allow_migrate_model(alias, model):
                model._default_manager.using(alias).bulk_create([model(pk=1)])


def _filled(connection: Any) -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    looks = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")" for name in sorted(set(names) - KEPT)
    )
    with connection.cursor() as cursor:
        cursor.execute(looks)
        return [name for (name,) in cursor.fetchall()]
