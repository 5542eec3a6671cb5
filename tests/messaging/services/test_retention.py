import os
import time
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from messaging.files.paths import draft_of, path_of
from messaging.models import Message
from messaging.services.retention import expire_files, report_foreign_files, sweep_drafts
from notifications.models import Alert
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def age(path: Path, hours: float = 2) -> None:
    os.utime(path, (time.time() - hours * 3600,) * 2)


class TestSweepDrafts:
    def test_old_draft_that_no_row_knows_goes(self, scene: Scene) -> None:
        scene.send("m1")
        draft = path_of(Message.objects.get()).parent / f".draft-{uuid.uuid4().hex}"
        draft.write_bytes(b"{")
        age(draft)
        sweep_drafts()
        assert not draft.exists()

    def test_young_draft_stays(self, scene: Scene) -> None:
        scene.send("m1")
        draft = path_of(Message.objects.get()).parent / f".draft-{uuid.uuid4().hex}"
        draft.write_bytes(b"{")
        sweep_drafts()
        assert draft.exists()

    def test_draft_of_an_accepted_message_gets_its_name(self, scene: Scene) -> None:
        scene.send("m1")
        message = Message.objects.get()
        path_of(message).rename(draft_of(message))
        age(draft_of(message))
        sweep_drafts()
        assert scene.folders() == {"Messages": ["m1"]}


class TestForgetOldFiles:
    def old(self, days: int = 91) -> None:
        Message.objects.update(arrived_at=timezone.now() - timedelta(days=days))

    def test_old_file_in_log_goes_and_its_row_stays(self, scene: Scene) -> None:
        scene.step(scene.ready(), "commit")
        move_files()
        self.old()
        expire_files()
        assert scene.folders() == {"Messages": ["r-m1"]}
        assert scene.receipt()["status"] == "processed"
        assert Message.objects.get(public_id="m1").file_gone_at is not None

    def test_younger_file_stays(self, scene: Scene) -> None:
        scene.step(scene.ready(), "commit")
        move_files()
        self.old(days=89)
        expire_files()
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}

    def test_nothing_of_a_process_that_is_not_settled_goes(self, scene: Scene) -> None:
        scene.ready("PROCESSED_INCORRECT")
        self.old()
        expire_files()
        assert scene.folders() == {"Messages": ["m1"], "Prepared": ["r-m1"]}


class TestReportForeignFiles:
    def test_foreign_file_is_told_and_left_alone(self, scene: Scene) -> None:
        scene.send("m1")
        foreign = settings.DATA_DIR / "messages" / scene.database.pk / "Log" / "photo\n.jpg"
        foreign.write_bytes(b"")
        report_foreign_files()
        assert "Log/photo?.jpg" in Alert.objects.get(kind="message.foreign_files").words
        assert foreign.exists()

    def test_alert_heals_when_it_is_gone(self, scene: Scene) -> None:
        scene.send("m1")
        foreign = settings.DATA_DIR / "messages" / scene.database.pk / "Log" / "photo.jpg"
        foreign.write_bytes(b"")
        report_foreign_files()
        foreign.unlink()
        report_foreign_files()
        assert Alert.objects.get(kind="message.foreign_files").status == "resolved"
