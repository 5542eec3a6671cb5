import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.access.keys import create_key, end_key
from config.common.key_text import is_key_of
from config.records.models import AccessKey, ChangeRecord
from tests.staff import signed_in

LIST = "/admin/records/accesskey/"
ADD = f"{LIST}add/"


@pytest.fixture
def staff(db: None) -> Client:
    return signed_in("administrator")


def form(**values: Any) -> dict[str, Any]:
    return {"name": "facility", "scopes": ["registry:read"], "expires_at": "", "form_id": str(uuid.uuid4()), **values}


def shown_key(page: str) -> str:
    found = re.search(r'<code id="new-key">([^<]+)</code>', page)
    assert found
    return found.group(1)


@pytest.mark.embedded
class TestAdd:
    def test_makes_a_key_that_works_and_shows_it(self, staff: Client) -> None:
        page = staff.post(ADD, form()).content.decode()
        key = AccessKey.objects.get()
        assert (key.name, key.scopes) == ("facility", ["registry:read"])
        assert is_key_of(shown_key(page), bytes(key.digest))

    def test_the_key_is_on_no_other_page(self, staff: Client) -> None:
        text = shown_key(staff.post(ADD, form()).content.decode())
        change = ChangeRecord.objects.get()
        pages = [
            LIST,
            f"{LIST}{AccessKey.objects.get().pk}/change/",
            f"/admin/records/changerecord/{change.pk}/change/",
        ]
        assert not any(text in staff.get(page).content.decode() for page in pages)

    def test_the_page_with_the_key_is_kept_by_nobody(self, staff: Client) -> None:
        assert "no-store" in staff.post(ADD, form())["Cache-Control"]

    def test_leads_to_the_first_call(self, staff: Client) -> None:
        assert b'href="/api/v1/docs/first-call/"' in staff.post(ADD, form()).content

    def test_the_same_form_again_makes_no_second_key(self, staff: Client) -> None:
        once = form()
        staff.post(ADD, once)
        page = staff.post(ADD, once, follow=True).content.decode()
        assert "already been sent" in page
        assert AccessKey.objects.count() == 1

    def test_says_who_made_it(self, staff: Client) -> None:
        staff.post(ADD, form())
        assert ChangeRecord.objects.get().actor == "staff:olga"

    def test_works_to_the_end_of_its_last_day(self, staff: Client) -> None:
        day = timezone.now().astimezone(UTC).date() + timedelta(days=30)
        staff.post(ADD, form(expires_at=day.isoformat()))
        assert AccessKey.objects.get().expires_at == datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(
            days=1
        )

    @pytest.mark.parametrize(
        ("field", "value", "rule"),
        [
            ("name", "", "This field is required"),
            ("name", "bell\x07", "all printable"),
            ("name", "n" * 101, "at most 100 characters"),
            ("scopes", [], "This field is required"),
            ("scopes", ["everything"], "not one of the available choices"),
            ("expires_at", "2001-01-01", "between today and ten years"),
            ("expires_at", "9999-12-31", "between today and ten years"),
        ],
    )
    def test_refuses_by_naming_the_rule(self, staff: Client, field: str, value: Any, rule: str) -> None:
        page = staff.post(ADD, form(**{field: value})).content.decode()
        assert rule in page
        assert not AccessKey.objects.exists()

    @pytest.mark.parametrize("group", ["viewer", "operator", "registrar"])
    def test_is_for_administrators(self, db: None, group: str) -> None:
        assert signed_in(group).post(ADD, form()).status_code == 403
        assert not AccessKey.objects.exists()


@pytest.mark.embedded
class TestList:
    def test_shows_each_state_in_words(self, staff: Client) -> None:
        create_key(name="facility", scopes=["registry:read"], actor="test")
        ended, _ = create_key(name="gone", scopes=["registry:read"], actor="test")
        end_key(key=ended, actor="test")
        AccessKey.objects.create(name="old", scopes=["sessions"], prefix="x", digest=b"", expires_at=timezone.now())
        page = staff.get(LIST).content.decode()
        assert all(re.search(rf">\s*{state}\s*</span>", page) for state in ("active", "revoked", "expired"))

    @pytest.mark.parametrize(("state", "name"), [("active", "facility"), ("ended", "gone"), ("expired", "old")])
    def test_filters_by_state(self, staff: Client, state: str, name: str) -> None:
        self.test_shows_each_state_in_words(staff)
        page = staff.get(LIST, {"state": state}).content.decode()
        assert [other for other in ("facility", "gone", "old") if f">{other}</a>" in page] == [name]

    def test_costs_the_same_for_many_keys(self, staff: Client, django_assert_max_num_queries: Any) -> None:
        for number in range(30):
            create_key(name=f"key {number}", scopes=["registry:read"], actor="test")
        with django_assert_max_num_queries(9):
            assert staff.get(LIST).status_code == 200

    @pytest.mark.parametrize("group", ["viewer", "operator", "registrar"])
    def test_is_for_administrators(self, db: None, group: str) -> None:
        assert signed_in(group).get(LIST).status_code == 403


@pytest.mark.embedded
class TestEnd:
    def test_asks_first_and_changes_nothing(self, staff: Client) -> None:
        key, _ = create_key(name="facility", scopes=["registry:read"], actor="test")
        assert "Revoke this key?" in staff.get(f"{LIST}{key.pk}/end/").content.decode()
        key.refresh_from_db()
        assert key.ended_at is None

    def test_ends_the_key_for_good(self, staff: Client) -> None:
        key, _ = create_key(name="facility", scopes=["registry:read"], actor="test")
        page = staff.post(f"{LIST}{key.pk}/end/", follow=True).content.decode()
        key.refresh_from_db()
        assert key.ended_at is not None
        assert "has been revoked" in page
        assert f"{LIST}{key.pk}/end/" not in page

    def test_is_for_administrators(self, db: None) -> None:
        key, _ = create_key(name="facility", scopes=["registry:read"], actor="test")
        assert signed_in("operator").post(f"{LIST}{key.pk}/end/").status_code == 403

    @pytest.mark.parametrize("object_id", ["999", "nonsense", "1/2"])
    def test_an_unknown_key_is_not_found(self, staff: Client, object_id: str) -> None:
        assert staff.post(f"{LIST}{object_id}/end/").status_code == 404
