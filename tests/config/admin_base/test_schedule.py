import pytest
from django_celery_beat.models import CrontabSchedule, PeriodicTask

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

    def test_is_called_as_the_menu_calls_it(self) -> None:
        load_schedule()
        client, task = signed_in("administrator"), PeriodicTask.objects.all()[0]
        for page in (LIST, f"{LIST}{task.pk}/change/"):
            shown = client.get(page).content.decode()
            assert "Schedule" in shown
            assert "eriodic task" not in shown

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

    def test_a_time_that_is_used_is_not_deleted(self) -> None:
        load_schedule()
        used, free = PeriodicTask.objects.all()[0].crontab, CrontabSchedule.objects.create(minute="3", hour="4")
        client, times = signed_in("administrator"), "/admin/django_celery_beat/crontabschedule/"
        assert "Delete" not in client.get(f"{times}{used.pk}/change/").content.decode()
        assert [client.get(f"{times}{each.pk}/delete/").status_code for each in (used, free)] == [403, 200]

    def test_entries_come_and_go_with_the_product(self) -> None:
        load_schedule()
        client = signed_in("administrator")
        pages = [f"{LIST}add/", f"{LIST}{PeriodicTask.objects.all()[0].pk}/delete/"]
        assert [client.get(page).status_code for page in pages] == [403, 403]
