from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from config.common.errors import Invalid
from processes.workflows.engine.bpmn.xml import MAX_BYTES
from processes.workflows.errors import DraftChanged, DraftNotFound, NotExecutable, TooManyDrafts
from processes.workflows.models import WorkflowDefinition, WorkflowDraft, WorkflowRevision
from processes.workflows.services.definitions import drafts, publish
from processes.workflows.services.definitions.drafts import Origin, Saved, discard_draft, publish_draft, save_draft
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
GOOD, BETTER = (chain("an_order", user(name)).decode() for name in ("check", "ship"))
BROKEN = "<bpmn:definitions"


def save(draft: UUID, source: str = GOOD, version: int = 0, **more: Any) -> Saved:
    return save_draft(draft, source, version=version, actor="ann", at=NOW, **{"origin": None, **more})


class TestSaveDraft:
    def test_keeps_what_cannot_run_and_says_why(self) -> None:
        saved = save(draft := uuid4(), BROKEN)

        assert saved.version == 1
        assert saved.problems
        assert WorkflowDraft.objects.get().source == BROKEN
        assert save(draft, GOOD, version=1) == Saved(2, "an_order", ())
        row = WorkflowDraft.objects.get()
        assert (row.source, row.name, row.actor, row.version) == (GOOD, "an_order", "ann", 2)

    @pytest.mark.parametrize("version", [0, 1])
    def test_the_same_again_is_answered_like_the_first_time(self, version: int) -> None:
        draft = uuid4()
        for earlier in range(version):
            save(draft, BROKEN, version=earlier)

        first = save(draft, GOOD, version=version)

        assert save(draft, GOOD, version=version) == first
        assert WorkflowDraft.objects.get().version == version + 1

    def test_a_second_window_does_not_write_over_the_first(self) -> None:
        save(draft := uuid4())
        save(draft, BETTER, version=1)

        with pytest.raises(DraftChanged):
            save(draft, BROKEN, version=1)

        assert WorkflowDraft.objects.get().source == BETTER

    def test_what_was_discarded_does_not_come_back(self) -> None:
        save(draft := uuid4())
        discard_draft(draft)

        with pytest.raises(DraftNotFound):
            save(draft, BETTER, version=1)

        assert not WorkflowDraft.objects.exists()

    def test_remembers_the_revision_it_was_begun_from(self, scene: Scene) -> None:
        scene.publish(GOOD.encode())

        save(uuid4(), BETTER, origin=Origin("an_order", 1))

        row = WorkflowDraft.objects.get()
        assert (row.definition_id, row.revision) == ("an_order", 1)

    @pytest.mark.parametrize("source", ["x" * (MAX_BYTES + 1), "\0"])
    def test_is_bounded(self, source: str) -> None:
        with pytest.raises(Invalid):
            save(uuid4(), source)

    def test_so_are_the_drafts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(drafts, "MOST_DRAFTS", 1)
        save(first := uuid4())

        with pytest.raises(TooManyDrafts):
            save(uuid4())

        assert save(first, BETTER, version=1).version == 2


class TestPublishDraft:
    def test_makes_a_revision_and_has_served(self) -> None:
        save(draft := uuid4())

        made = publish_draft(draft, version=1, enterprise=None, actor="ann", at=NOW)

        assert (made.key, made.revision) == ("an_order", 1)
        assert bytes(WorkflowRevision.objects.get().source).decode() == GOOD
        with pytest.raises(DraftNotFound):
            publish_draft(draft, version=1, enterprise=None, actor="ann", at=NOW)

    def test_what_cannot_run_stays_a_draft(self) -> None:
        save(draft := uuid4(), BROKEN)

        with pytest.raises(NotExecutable):
            publish_draft(draft, version=1, enterprise=None, actor="ann", at=NOW)

        assert WorkflowDraft.objects.get().source == BROKEN
        assert not WorkflowDefinition.objects.exists()

    def test_nobody_publishes_what_they_have_not_seen(self) -> None:
        save(draft := uuid4())
        save(draft, BETTER, version=1)

        with pytest.raises(DraftChanged):
            publish_draft(draft, version=1, enterprise=None, actor="ann", at=NOW)

        assert not WorkflowRevision.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_is_played_before_anything_is_locked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        locked: list[bool] = []
        monkeypatch.setattr(publish, "refuse_if_any_fails", lambda *_: locked.append(connection.in_atomic_block))
        save(draft := uuid4())

        publish_draft(draft, version=1, enterprise=None, actor="ann", at=NOW)

        assert locked == [False]

    def test_what_was_saved_meanwhile_stays_a_draft(self, monkeypatch: pytest.MonkeyPatch) -> None:
        save(draft := uuid4())
        monkeypatch.setattr(publish, "refuse_if_any_fails", lambda *_: save(draft, BETTER, version=1))

        publish_draft(draft, version=1, enterprise=None, actor="ann", at=NOW)

        assert WorkflowDraft.objects.get().source == BETTER
        assert bytes(WorkflowRevision.objects.get().source).decode() == GOOD
