"""Bounded counts of many queries by one statement: a menu asks all of them on every page."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.formats import number_format

MOST_ON_A_BADGE = 100
"""Whatever is more has a plus."""


def count_each(rows: Sequence[QuerySet[Any]], *, most: int) -> list[int]:
    """Return how many rows each query has, none counted further than `most`."""
    if not rows:
        return []
    parts, values = list[str](), list[Any]()
    for number, each in enumerate(rows):
        sql, parameters = each.order_by().values("pk")[:most].query.sql_with_params()
        parts.append(f"(SELECT COUNT(*) FROM ({sql}) AS part_{number})")
        values += parameters
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", values)  # noqa: S608 (Django's own statements, values apart)
        return list(cursor.fetchone())


def badge_text(count: int, *, most: int) -> str:
    """Return a count for a badge, with a plus where it ended at its bound; empty for none."""
    if not count:
        return ""
    return f"{number_format(most - 1)}+" if count >= most else number_format(count)
