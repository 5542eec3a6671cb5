import pytest
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from config.admin_base.schedule import describe
from config.runtime.upkeep import load_schedule
from tests.staff import signed_in

LIST = "/admin/django_celery_beat/periodictask/"


@pytest.mark.embedded
@pytest.mark.django_db
class TestSchedule:
    def test_shows_every_entry_with_its_sentence(self) -> None:
        load_schedule()
        page = signed_in("viewer").get(LIST, headers={"accept-language": "ru"}).content.decode()
        assert all(task.name in page for task in PeriodicTask.objects.all())
        assert "секции" in page

    def test_staff_switch_an_entry_off(self) -> None:
        load_schedule()
        task = PeriodicTask.objects.all()[0]
        signed_in("administrator").post(f"{LIST}{task.pk}/change/", {"crontab": task.crontab_id})
        task.refresh_from_db()
        assert not task.enabled

    def test_a_viewer_only_looks(self) -> None:
        load_schedule()
        task = PeriodicTask.objects.all()[0]
        assert signed_in("viewer").post(f"{LIST}{task.pk}/change/", {"crontab": task.crontab_id}).status_code == 403

    def test_entries_come_and_go_with_the_product(self) -> None:
        load_schedule()
        client = signed_in("administrator")
        pages = [f"{LIST}add/", f"{LIST}{PeriodicTask.objects.all()[0].pk}/delete/"]
        assert [client.get(page).status_code for page in pages] == [403, 403]


class TestDescribe:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"minute": "7"}, "every hour at minute 7"),
            ({"minute": "5", "hour": "3"}, "every day at 03:05 UTC"),
            ({"minute": "*/5"}, "*/5 * * * * UTC"),
            ({"minute": "0", "hour": "1,13"}, "0 1,13 * * * UTC"),
            ({"minute": "0", "hour": "1", "day_of_week": "1"}, "0 1 * * 1 UTC"),
        ],
    )
    def test_uses_words_where_they_are_shorter(self, fields: dict[str, str], words: str) -> None:
        assert describe(CrontabSchedule(timezone="UTC", **fields)) == words
