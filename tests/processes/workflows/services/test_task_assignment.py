import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from config.common.errors import Invalid, NotPermitted
from config.records.models import ChangeRecord
from processes.workflows.errors import Abandoned, NotPossible, TaskNotFound, TaskTaken
from processes.workflows.heads import get_head
from processes.workflows.models import TaskCandidate, WorkItem
from processes.workflows.services.returns import return_instance
from processes.workflows.services.task_assignment import (
    Schedule,
    assign_task,
    claim_task,
    find_task,
    release_task,
    schedule_task,
)
from processes.workflows.task_rights import Person
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene
from tests.staff import member_of

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

OFFERED = chain(
    "offered", ("check", '<userTask id="check" postern:candidateGroups="Sales" postern:dueDate="2030-01-01"/>')
)
OLGA = Person("olga", ("operator",), may_change=True)
SAM = Person("sam", ("Sales",), may_change=False)
OUTSIDER = Person("otto", ("viewer",), may_change=False)


@pytest.fixture
def item(scene: Scene) -> WorkItem:
    for name in ("olga", "sam", "otto"):
        member_of("viewer", name)
    scene.begin(OFFERED)
    return WorkItem.objects.get()


def waiting() -> list[bool]:
    return list(TaskCandidate.objects.values_list("is_waiting", flat=True))


class TestClaim:
    def test_writes_no_version_and_a_line_of_the_log(self, scene: Scene, item: WorkItem) -> None:
        claim_task(item.pk, SAM, actor="staff:sam")
        item.refresh_from_db()
        assert (item.assignee, item.noticed, waiting()) == ("sam", "sam", [False])
        line = ChangeRecord.objects.get(kind="task")
        assert (line.actor, line.before["assignee"], line.after["assignee"]) == ("staff:sam", "", "sam")
        assert item.instance.head == 1

    def test_the_second_is_told_who_has_it(self, item: WorkItem) -> None:
        claim_task(item.pk, SAM, actor="x")
        with pytest.raises(TaskTaken) as refused:
            claim_task(item.pk, OLGA, actor="x")
        assert refused.value.data == {"assignee": "sam"}

    def test_said_twice_it_is_once(self, item: WorkItem) -> None:
        for _ in range(2):
            claim_task(item.pk, SAM, actor="x")
        assert ChangeRecord.objects.filter(kind="task").count() == 1

    def test_only_by_a_candidate_or_who_may_change(self, item: WorkItem) -> None:
        with pytest.raises(NotPermitted):
            claim_task(item.pk, OUTSIDER, actor="x")
        claim_task(item.pk, OLGA, actor="x")
        assert WorkItem.objects.get().assignee == "olga"

    def test_not_of_a_closed_task(self, scene: Scene, item: WorkItem) -> None:
        scene.complete(get_head(item.instance_id))
        with pytest.raises(NotPossible):
            claim_task(item.pk, SAM, actor="x")
        assert not TaskCandidate.objects.exists()
        with pytest.raises(TaskNotFound):
            claim_task(0, SAM, actor="x")

    @pytest.mark.django_db(transaction=True)
    def test_of_two_at_once_one_has_it(self, item: WorkItem) -> None:
        outcomes: list[str] = []
        barrier = threading.Barrier(2)

        def claim(person: Person) -> None:
            barrier.wait(60)
            try:
                claim_task(item.pk, person, actor=person.name)
                outcomes.append(person.name)
            except TaskTaken as taken:
                outcomes.append(f"told {taken.data['assignee']}")
            finally:
                connection.close()

        threads = [threading.Thread(target=claim, args=(person,)) for person in (SAM, OLGA)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        winner = WorkItem.objects.get().assignee
        assert sorted(outcomes) == sorted([winner, f"told {winner}"])


class TestRelease:
    def test_it_is_offered_again(self, item: WorkItem) -> None:
        claim_task(item.pk, SAM, actor="x")
        release_task(item.pk, SAM, actor="x")
        assert (WorkItem.objects.get().assignee, waiting()) == ("", [True])

    def test_not_by_somebody_else_unless_they_may_change(self, item: WorkItem) -> None:
        claim_task(item.pk, SAM, actor="x")
        with pytest.raises(NotPermitted):
            release_task(item.pk, OUTSIDER, actor="x")
        release_task(item.pk, OLGA, actor="x")
        assert WorkItem.objects.get().assignee == ""


class TestAssign:
    def test_an_assignee_who_hands_it_on_stays_its_owner(self, item: WorkItem) -> None:
        claim_task(item.pk, SAM, actor="x")
        assign_task(item.pk, SAM, "otto", actor="x")
        assert (WorkItem.objects.get().assignee, WorkItem.objects.get().owner) == ("otto", "sam")
        release_task(item.pk, OUTSIDER, actor="x")
        assert (WorkItem.objects.get().assignee, WorkItem.objects.get().owner, waiting()) == ("sam", "", [False])

    def test_staff_reassign(self, item: WorkItem) -> None:
        claim_task(item.pk, SAM, actor="x")
        assign_task(item.pk, OLGA, "otto", actor="x")
        found = WorkItem.objects.get()
        assert (found.assignee, found.owner) == ("otto", "")
        assert found.notice_at is not None
        assert found.notice_at <= found.since

    def test_only_to_an_account(self, item: WorkItem) -> None:
        with pytest.raises(Invalid):
            assign_task(item.pk, OLGA, "ghost", actor="x")
        with pytest.raises(NotPermitted):
            assign_task(item.pk, SAM, "otto", actor="x")


class TestSchedule:
    def test_sets_what_the_inbox_is_sorted_by(self, item: WorkItem) -> None:
        due = datetime(2031, 1, 1, tzinfo=UTC)
        schedule_task(item.pk, OLGA, Schedule(due, None, 70), actor="x")
        found, offer = WorkItem.objects.get(), TaskCandidate.objects.get()
        assert (found.deadline, found.priority, found.notice_at) == (due, 70, due)
        assert (offer.deadline_at, offer.priority) == (due, 70)
        schedule_task(item.pk, OLGA, Schedule(None, due, 50), actor="x")
        found.refresh_from_db()
        assert (found.deadline, found.follow_up_at, found.notice_at) == (None, due, None)
        with pytest.raises(NotPermitted):
            schedule_task(item.pk, SAM, Schedule(None, None, 50), actor="x")


class TestReturn:
    def test_opens_the_task_as_the_file_has_it(self, scene: Scene) -> None:
        member_of("viewer", "sam")
        source = chain("two", ("check", '<userTask id="check" postern:candidateGroups="Sales"/>'), user("ship"))
        head = scene.begin(source)
        first = WorkItem.objects.get()
        task = first.public_id
        claim_task(first.pk, SAM, actor="x")
        scene.complete(head)
        return_instance(head.id, version=1, reason="x", actor="y", at=head.at)
        found: Any = WorkItem.objects.get(element="check", status="open")
        assert (found.assignee, [each.name for each in found.candidates.all()]) == ("", ["Sales"])
        with pytest.raises((NotPossible, Abandoned)):
            claim_task(first.pk, SAM, actor="x")
        assert find_task(found.public_id) == found
        assert find_task(task) == first
