from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models.signals import post_init
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from config.common.errors import Invalid
from config.common.web.pagination import CHUNK, PAGE_BYTES, collect_page, paginate
from config.records.models import AccessKey, ChangeRecord

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def asking(address: str = "/api/v1/groups/", **query: Any) -> Request:
    return Request(APIRequestFactory().get(address, query))


def following(address: str | None) -> Request:
    assert address is not None
    return Request(APIRequestFactory().get(address))


def walk(rows: Any, *, order: list[str], limit: int) -> list[Any]:
    found = paginate(asking(limit=limit), rows, order=order)
    seen = list(found.results)
    while found.next is not None:
        found = paginate(following(found.next), rows, order=order)
        assert len(found.results) <= limit
        seen += found.results
    return seen


class TestPage:
    @pytest.fixture(autouse=True)
    def _groups(self) -> None:
        Group.objects.all().delete()
        Group.objects.bulk_create(Group(name=f"g{number:02}") for number in range(10))

    def test_names_the_next_page_until_there_is_none(self) -> None:
        first = paginate(asking(limit=6, search="x"), Group.objects.all(), order=["name"])
        second = paginate(following(first.next), Group.objects.all(), order=["name"])
        assert [len(first.results), len(second.results), second.next] == [6, 4, None]
        assert first.next is not None
        assert parse_qs(urlsplit(first.next).query)["search"] == ["x"]

    def test_a_full_last_page_has_no_next(self) -> None:
        assert paginate(asking(limit=10), Group.objects.all(), order=["name"]).next is None

    def test_costs_one_query(self, django_assert_num_queries: Any) -> None:
        first = paginate(asking(limit=3), Group.objects.all(), order=["name"])
        with django_assert_num_queries(1):
            paginate(following(first.next), Group.objects.all(), order=["name"])

    def test_rows_that_arrive_meanwhile_shift_nothing(self) -> None:
        first = paginate(asking(limit=5), Group.objects.all(), order=["name"])
        Group.objects.create(name="a-new-first")
        second = paginate(following(first.next), Group.objects.all(), order=["name"])
        assert [group.name for group in second.results] == ["g05", "g06", "g07", "g08", "g09"]

    @pytest.mark.parametrize("order", [["name"], ["-name"], ["id"], ["-pk"]])
    def test_walks_objects_and_dictionaries_alike(self, order: list[str]) -> None:
        objects = walk(Group.objects.all(), order=order, limit=3)
        rows = walk(Group.objects.values("id", "name"), order=order, limit=3)
        name = order[0].lstrip("-")
        expected = sorted((getattr(group, name) for group in objects), reverse=order[0].startswith("-"))
        assert [getattr(group, name) for group in objects] == expected
        assert [row["id"] for row in rows] == [group.pk for group in objects]

    @pytest.mark.parametrize("order", [["-content_type", "codename"], ["content_type", "-codename"], ["content_type"]])
    def test_walks_columns_in_any_direction_and_breaks_ties(self, order: list[str]) -> None:
        seen = walk(Permission.objects.all(), order=order, limit=7)
        assert len(seen) == len({row.pk for row in seen}) == Permission.objects.count()
        kinds = [row.content_type_id for row in seen]
        assert kinds == sorted(kinds, reverse=order[0].startswith("-"))

    def test_equal_times_are_walked_by_their_key(self) -> None:
        at = "2026-01-01T00:00:00.123456Z"
        values = {"actor": "a", "action": "created", "kind": "k", "object_id": "1", "after": {}}
        ChangeRecord.objects.bulk_create(ChangeRecord(at=at, **values) for _ in range(9))
        seen = walk(ChangeRecord.objects.all(), order=["-at"], limit=2)
        assert [row.pk for row in seen] == sorted((row.pk for row in seen), reverse=True)
        assert len(seen) == 9


class TestParameters:
    @pytest.mark.parametrize("limit", ["0", "1001", "-1", "ten", "1.5", "", "٣", "1e2"])
    def test_a_wrong_limit_is_named(self, limit: str) -> None:
        with pytest.raises(Invalid) as refused:
            paginate(asking(limit=limit), Group.objects.all(), order=["name"])
        assert list(refused.value.data["fields"]) == ["limit"]

    @pytest.mark.parametrize("cursor", ["", "abc", "abc.def", "ünïcode", "W10.x"])
    def test_a_made_up_cursor_is_named(self, cursor: str) -> None:
        with pytest.raises(Invalid) as refused:
            paginate(asking(cursor=cursor), Group.objects.all(), order=["name"])
        assert list(refused.value.data["fields"]) == ["cursor"]

    def test_a_changed_cursor_is_refused(self) -> None:
        cursor = self._cursor(Group.objects.all(), "name")
        with pytest.raises(Invalid):
            paginate(asking(cursor="A" + cursor), Group.objects.all(), order=["name"])

    def test_the_cursor_of_another_list_is_refused(self) -> None:
        cursor = self._cursor(Group.objects.all(), "name")
        with pytest.raises(Invalid):
            paginate(asking(cursor=cursor), Group.objects.all(), order=["-name"])
        with pytest.raises(Invalid):
            paginate(asking(cursor=cursor), ContentType.objects.all(), order=["model"])

    def test_a_column_that_may_be_null_is_a_mistake(self) -> None:
        with pytest.raises(TypeError, match="expires_at"):
            paginate(asking(), AccessKey.objects.all(), order=["expires_at"])

    @staticmethod
    def _cursor(rows: Any, order: str) -> str:
        address = paginate(asking(limit=1), rows, order=[order]).next
        assert address is not None
        return parse_qs(urlsplit(address).query)["cursor"][0]


def change(number: int, size: int) -> ChangeRecord:
    return ChangeRecord(kind="k", object_id=str(number), action="created", after={"text": "x" * size}, actor="a")


class TestBytesOfAPage:
    """Rows of this list hold JSON without a length of its own."""

    LARGE = PAGE_BYTES // 4

    def pages(self, **query: Any) -> list[list[str]]:
        rows = ChangeRecord.objects.all()
        found = paginate(asking(**query), rows, order=["pk"])
        seen = [[row.object_id for row in found.results]]
        while found.next is not None:
            found = paginate(following(found.next), rows, order=["pk"])
            seen.append([row.object_id for row in found.results])
        return seen

    def test_a_page_ends_where_its_bytes_are_used_up_and_next_leads_on(self) -> None:
        ChangeRecord.objects.bulk_create(change(number, self.LARGE) for number in range(7))
        assert self.pages(limit=1000) == [["0", "1", "2"], ["3", "4", "5"], ["6"]]

    def test_a_row_that_is_too_large_by_itself_is_a_page(self) -> None:
        sizes = [10, PAGE_BYTES + 1, 10, PAGE_BYTES + 1]
        ChangeRecord.objects.bulk_create(change(number, size) for number, size in enumerate(sizes))
        assert self.pages() == [["0"], ["1"], ["2"], ["3"]]

    def test_small_rows_are_bounded_by_the_limit_alone(self) -> None:
        ChangeRecord.objects.bulk_create(change(number, 10) for number in range(CHUNK * 3))
        assert [len(each) for each in self.pages(limit=CHUNK * 2)] == [CHUNK * 2, CHUNK]

    def test_costs_one_query(self, django_assert_num_queries: Any) -> None:
        ChangeRecord.objects.bulk_create(change(number, 10) for number in range(CHUNK * 3))
        with django_assert_num_queries(1):
            paginate(asking(), ChangeRecord.objects.all(), order=["pk"])

    def test_dictionaries_are_weighed_too(self) -> None:
        ChangeRecord.objects.bulk_create(change(number, self.LARGE) for number in range(5))
        heavy = paginate(asking(), ChangeRecord.objects.values("id", "after"), order=["pk"])
        light = paginate(asking(), ChangeRecord.objects.values("id", "actor"), order=["pk"])
        assert [len(heavy.results), len(light.results)] == [3, 5]

    def test_no_more_rows_are_read_than_the_part_that_the_page_ends_in(self) -> None:
        read: list[int] = []

        def rows() -> Any:
            for number in range(1000):
                read.append(number)
                yield number

        found, more = collect_page(
            rows(), limit=1000, weigh=lambda part: [100] * len(part), most_bytes=100 * (CHUNK + 1)
        )
        assert [len(found), more, len(read)] == [CHUNK + 1, True, 2 * CHUNK]

    def test_and_no_more_are_asked_of_the_database(self) -> None:
        ChangeRecord.objects.bulk_create(change(number, 100) for number in range(3 * CHUNK))
        made: list[str] = []

        def note(instance: ChangeRecord, **_: Any) -> None:
            made.append(instance.object_id)

        post_init.connect(note, sender=ChangeRecord)
        try:
            found = paginate(asking(), ChangeRecord.objects.all(), order=["pk"], most_bytes=1000)
        finally:
            post_init.disconnect(note, sender=ChangeRecord)
        assert (0 < len(found.results) < CHUNK, len(made)) == (True, CHUNK)


@pytest.mark.django_db(transaction=True)
def test_a_page_of_large_rows_leaves_no_transaction_open() -> None:
    ChangeRecord.objects.bulk_create(change(number, PAGE_BYTES // 2) for number in range(3))
    found = paginate(asking(), ChangeRecord.objects.all(), order=["pk"])
    assert [len(found.results), connection.in_atomic_block] == [1, False]
