import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest

from config.common.errors import VolumeAway
from messaging.files import volume
from messaging.files.drafts import drop_drafts, name_drafts, write_drafts
from messaging.files.placement import FileMissing, find_files, place_file, withdraw_file
from messaging.files.volume import MARKER, adopt_restored_volume, adopt_volume, check_folder, check_volume
from messaging.models import MessageVolume
from tests.messaging.files.message_rows import row
from tests.processes.exchange.scene import Scene

pytestmark = pytest.mark.embedded


@pytest.fixture
def place(folders: Path) -> Path:
    """The root of a volume that is known, with the folders of one database."""
    check_volume()
    message = row()
    write_drafts([(message, b"{}")])
    drop_drafts([message])
    return folders.parent


def unmount(place: Path) -> Path:
    """Leave the empty folder that a volume was mounted on."""
    place.rename(place.with_name("volume"))
    place.mkdir()
    return place.with_name("volume")


class TestCheckVolume:
    def test_adopts_the_folder_of_a_new_installation(self, folders: Path) -> None:
        check_volume()
        assert (folders.parent / MARKER).read_text().strip() == str(MessageVolume.objects.get().token)

    def test_asks_the_database_no_more_once_it_knows(self, place: Path, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            check_volume()

    def test_is_there_when_another_process_has_adopted_it_meanwhile(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The folder was looked at just before the marker came, the database just after the row did."""
        looks = iter([None, volume.read_marker()])
        monkeypatch.setattr(volume, "_known", {})
        monkeypatch.setattr(volume, "read_marker", lambda: next(looks))
        check_volume()
        assert next(looks, "looked twice") == "looked twice"

    @pytest.mark.parametrize("leave", [unmount, lambda place: place.rename(place.with_name("volume"))])
    def test_is_away_when_nothing_or_an_empty_folder_is_there(self, place: Path, leave: Any) -> None:
        leave(place)
        with pytest.raises(VolumeAway) as away:
            check_volume()
        assert away.value.detail["path"] == str(place)

    def test_is_away_when_another_volume_is_there(self, place: Path) -> None:
        (place / MARKER).write_text(f"{uuid.uuid4()}\n")
        with pytest.raises(VolumeAway, match="volume with the message files"):
            check_volume()

    def test_is_there_again_when_it_is_back(self, place: Path) -> None:
        real = unmount(place)
        place.rmdir()
        real.rename(place)
        check_volume()

    def test_tells_the_errno_of_a_disk_that_fails(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(path: Path) -> str:
            raise OSError(5, os.strerror(5), str(path))

        monkeypatch.setattr(Path, "read_text", fail)
        with pytest.raises(VolumeAway) as away:
            check_volume()
        assert (away.value.detail["errno"], away.value.detail["path"]) == (5, str(place / MARKER))


class TestAdoptVolume:
    @pytest.fixture(autouse=True)
    def _unknown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(volume, "_known", {})

    def test_of_two_nodes_the_first_marker_counts(self, folders: Path) -> None:
        token = adopt_volume()
        MessageVolume.objects.all().delete()
        assert adopt_volume() == token

    def test_folder_from_before_there_were_markers_is_known_by_its_files(self, folders: Path) -> None:
        scene = Scene()
        scene.send("m1")
        MessageVolume.objects.all().delete()
        (folders.parent / MARKER).unlink()
        assert adopt_volume() == MessageVolume.objects.get().token

    def test_empty_folder_is_not_adopted_where_messages_have_files(self, folders: Path) -> None:
        scene = Scene()
        scene.send("m1")
        MessageVolume.objects.all().delete()
        shutil.rmtree(folders.parent)
        with pytest.raises(VolumeAway):
            check_volume()
        assert not MessageVolume.objects.exists()
        assert not folders.parent.exists()

    def test_by_force_whatever_is_there_is_the_volume(self, place: Path) -> None:
        scene = Scene()
        unmount(place)
        adopt_volume(forced=True)
        check_folder(scene.database.pk)

    def test_restored_database_takes_over_the_volume_that_is_there_and_no_empty_folder(self, place: Path) -> None:
        MessageVolume.objects.update(token=uuid.uuid4())
        adopt_restored_volume()
        unmount(place)
        with pytest.raises(VolumeAway):
            adopt_restored_volume()


class TestWhatLooksMissing:
    def test_is_not_believed_without_the_volume(self, place: Path) -> None:
        message = row()
        unmount(place)
        for look in (place_file, find_files, withdraw_file):
            with pytest.raises(VolumeAway):
                look(message)

    def test_is_not_believed_without_the_folder_of_its_database(self, place: Path) -> None:
        shutil.rmtree(place / "erp")
        with pytest.raises(VolumeAway) as away:
            place_file(row())
        assert away.value.detail["path"] == str(place / "erp")

    def test_is_believed_with_it(self, place: Path) -> None:
        with pytest.raises(FileMissing):
            place_file(row())

    def test_is_not_believed_if_the_volume_comes_back_after_the_look(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        message = row()
        write_drafts([(message, b"{}")])
        name_drafts([message])
        real = unmount(place)
        check = volume.check_volume

        def come_back() -> None:
            monkeypatch.setattr(volume, "check_volume", check)
            place.rmdir()
            real.rename(place)
            check()

        monkeypatch.setattr(volume, "check_volume", come_back)
        place_file(message)


class TestWriting:
    def test_nothing_is_written_where_the_volume_was(self, place: Path) -> None:
        unmount(place)
        with pytest.raises(VolumeAway):
            write_drafts([(row(), b"{}")])
        assert list(place.iterdir()) == []

    def test_nor_into_folders_that_an_earlier_mistake_left_there(self, place: Path) -> None:
        unmount(place)
        (place / "erp" / "Messages").mkdir(parents=True)
        with pytest.raises(VolumeAway):
            write_drafts([(row(), b"{}")])
        assert list((place / "erp" / "Messages").iterdir()) == []

    def test_folder_of_a_database_that_has_messages_is_not_made_anew(self, place: Path) -> None:
        scene = Scene()
        assert scene.send("m1")[0] == 201
        for missing in (place / scene.database.pk, place / scene.database.pk / "Messages"):
            shutil.rmtree(missing)
            assert scene.send("m2")[0] == 503
            assert not missing.exists()
            adopt_volume(forced=True)
        assert scene.send("m2")[0] == 201
