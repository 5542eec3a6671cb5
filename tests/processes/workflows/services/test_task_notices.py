from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from config.common.database.leases import LeaseLost, claim
from config.records.models import UserSettings
from notifications.models import Delivery
from notifications.sending.presentation import mail_subject, mail_text
from processes.workflows.models import WorkItem
from processes.workflows.services import task_notices
from processes.workflows.services.task_assignment import assign_task, claim_task
from processes.workflows.services.task_notices import send_due_notices
from processes.workflows.task_rights import Person
from tests.processes.workflows.process_files import chain
from tests.processes.workflows.scene import Scene
from tests.staff import member_of

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

OLGA = Person("olga", (), may_change=True)


def task(**said: str) -> bytes:
    inner = " ".join(f'postern:{name}="{value}"' for name, value in said.items())
    return chain("order", ("check", f'<userTask id="check" name="Check" {inner}/>'))


def sent() -> list[tuple[str, str]]:
    rows = Delivery.objects.order_by("pk").values_list("type", "endpoint__url")
    return [(kind, url.removeprefix("mailto:")) for kind, url in rows]


@pytest.fixture(autouse=True)
def people(db: None) -> None:
    for name in ("olga", "anna", "bob"):
        member_of("viewer", name)
        User.objects.filter(username=name).update(email=f"{name}@example.org")


class TestAssigned:
    def test_by_the_file_is_told_once(self, scene: Scene) -> None:
        scene.begin(task(assignee="anna"), record="A-7")
        assert send_due_notices()
        assert not send_due_notices()
        assert sent() == [("task.assigned", "anna@example.org")]
        body = Delivery.objects.get().body
        assert mail_subject(body) == "[Postern] Task for you: Check"
        text = mail_text(body)
        assert "A-7" in text
        assert f"/admin/workflows/workitem/{WorkItem.objects.get().pk}/change/" in text
        assert "/admin/workflows/workitem/mails/" in text

    def test_by_a_person_is_told_and_a_claim_of_ones_own_is_not(self, scene: Scene) -> None:
        scene.begin(task())
        item = WorkItem.objects.get()
        claim_task(item.pk, OLGA, actor="x")
        send_due_notices()
        assert sent() == []
        assign_task(item.pk, OLGA, "bob", actor="x")
        send_due_notices()
        assert sent() == [("task.assigned", "bob@example.org")]

    def test_who_does_not_want_it_or_has_no_address_is_left_alone(self, scene: Scene) -> None:
        anna = User.objects.get(username="anna")
        UserSettings.objects.create(user=anna, time_zone="UTC", mails_assigned=False)
        User.objects.filter(username="bob").update(email="")
        for name in ("anna", "bob", "ghost"):
            scene.begin(task(assignee=name))
        while send_due_notices():
            pass
        assert sent() == []
        assert not WorkItem.objects.filter(notice_at__isnull=False).exists()

    def test_whoever_is_overtaken_by_another_assignment_tells_nobody(self, scene: Scene) -> None:
        scene.begin(task(assignee="anna"))
        [claimed] = claim(WorkItem.objects.all(), limit=1, lease=task_notices.LEASE, deadline="notice_at")
        assign_task(claimed.pk, OLGA, "bob", actor="x")
        with pytest.raises(LeaseLost):
            task_notices._notify(claimed)
        send_due_notices()
        assert sent() == [("task.assigned", "bob@example.org")]

    def test_whoever_dies_is_followed_by_another(self, scene: Scene) -> None:
        scene.begin(task(assignee="anna"))
        claim(WorkItem.objects.all(), limit=1, lease=task_notices.LEASE, deadline="notice_at")
        assert not send_due_notices()
        WorkItem.objects.update(notice_at=F("notice_at") - 2 * task_notices.LEASE)
        send_due_notices()
        assert sent() == [("task.assigned", "anna@example.org")]

    def test_whoever_dies_between_mark_and_mail_has_told_nobody(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scene.begin(task(assignee="anna"))

        def die(*args: object, **options: object) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(task_notices, "enqueue_notice", die)
            with pytest.raises(SystemExit):
                send_due_notices()
        WorkItem.objects.update(notice_at=F("notice_at") - 2 * task_notices.LEASE)
        send_due_notices()
        assert sent() == [("task.assigned", "anna@example.org")]


class TestOverdue:
    def test_is_told_to_the_assignee_once(self, scene: Scene) -> None:
        scene.begin(task(assignee="anna", dueDate="2020-01-01"))
        while send_due_notices():
            pass
        assert sent() == [("task.assigned", "anna@example.org"), ("task.overdue", "anna@example.org")]

    def test_of_nobody_it_is_told_to_candidates_by_name(self, scene: Scene) -> None:
        scene.begin(task(candidateUsers="anna, ghost", candidateGroups="viewer", dueDate="2020-01-01"))
        send_due_notices()
        assert sent() == [("task.overdue", "anna@example.org")]

    def test_waits_for_its_time(self, scene: Scene) -> None:
        due = timezone.now() + timedelta(hours=1)
        scene.begin(task(candidateUsers="anna", dueDate=due.isoformat()))
        assert not send_due_notices()
        item = WorkItem.objects.get()
        assert item.notice_at == item.deadline

    def test_a_closed_task_is_told_of_no_more(self, scene: Scene) -> None:
        head = scene.begin(task(candidateUsers="anna", dueDate="2020-01-01"))
        scene.complete(head)
        assert not send_due_notices()
