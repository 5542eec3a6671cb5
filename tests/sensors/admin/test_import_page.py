import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser

from config.records.models import ChangeRecord
from sensors.admin.import_page import sample_rows
from sensors.models import Sensor
from sensors.services.imports import plan_import
from sensors.services.sheets import LARGEST_FILE, write_csv
from tests.sensors.registry import make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/admin/sensors/sensor/import/"


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "uploads"


@pytest.fixture
def browser(folder: Path) -> Browser:
    return signed_in("registrar")


def upload(browser: Browser, text: str | bytes) -> Any:
    content = text.encode() if isinstance(text, str) else text
    return browser.post(PAGE, {"file": SimpleUploadedFile("sensors.csv", content)})


def told(browser: Browser, answer: Any) -> str:
    shown = browser.get(answer.headers["Location"])
    return " ".join(str(message) for message in shown.context["messages"])


def buttons(answer: Any) -> set[str]:
    """Return the words on the buttons of the form."""
    form = answer.content.decode().split('name="token"')[1].split("</form>")[0]
    return {" ".join(words.split()) for words in re.findall(r">([^<>]+)</(?:button|a)>", form)}


class TestSample:
    def test_can_be_imported_as_it_is_and_names_a_client(self, browser: Browser) -> None:
        client = make_client("Night watch")
        sample = browser.get(PAGE, {"sample": "csv"})
        assert sample.headers["Content-Disposition"] == 'attachment; filename="sensors-sample.csv"'
        assert b"Night watch" in sample.content
        report = upload(browser, sample.content).context["report"]
        assert (report.created, report.changed) == (2, 0)
        browser.post(PAGE, {"token": upload(browser, sample.content).context["preview"].token})
        assert client.sensors.count() == 1

    @pytest.mark.parametrize("name", [None, "42", "4 2", "One; two", "Night watch"])
    def test_has_no_bad_line_whatever_the_client_is_called(self, name: str | None) -> None:
        client = make_client(name) if name else None
        assert plan_import(write_csv(sample_rows(client))).bad == 0

    def test_is_offered_beside_the_form(self, browser: Browser) -> None:
        assert 'href="?sample=csv"' in browser.get(PAGE).content.decode()


class TestPreview:
    def test_shows_what_would_happen_and_changes_nothing(self, browser: Browser) -> None:
        client = make_client()
        make_sensor("old")
        make_sensor("same", address="Here")
        answer = upload(browser, f"id,address,clients\nnew,Here,{client.pk}\nold,There,\nsame,Here,\n")
        report, preview = answer.context["report"], answer.context["preview"]
        assert (report.created, report.changed, report.unchanged, preview.bad) == (1, 1, 1, 0)
        cells = {line.id: [(cell.name, cell.before, cell.after) for cell in cells] for line, cells in preview.lines}
        assert cells["old"] == [("address", "1 Gate Street", "There")]
        assert ("clients", "", str(client.pk)) in cells["new"]
        assert (Sensor.objects.count(), ChangeRecord.objects.count()) == (2, 0)

    def test_names_bad_lines_and_offers_the_good_ones_alone(self, browser: Browser) -> None:
        answer = upload(browser, "id,address\na-b,Here\nc,There\n")
        assert [(fault.line, fault.field) for fault in answer.context["preview"].faults] == [(2, "id")]
        assert buttons(answer) == {"Import the good lines", "Download the lines with errors", "Another file"}

    def test_without_a_good_line_offers_no_import(self, browser: Browser) -> None:
        answer = upload(browser, "id,address\na-b,Here\n")
        assert buttons(answer) == {"Download the lines with errors", "Another file"}

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("content", "word"),
        [
            (b"\xff", "UTF-8"),
            (b"colour\nred\n", "“colour”"),
            (b"x" * (LARGEST_FILE + 1), "10485760 bytes"),
            (b"id\n" + b"a\n" * 100_001, "100000 rows"),
        ],
        ids=["not UTF-8", "wrong column", "too large", "too many"],
    )
    def test_says_why_a_file_is_refused(self, browser: Browser, content: bytes, word: str) -> None:
        assert word in told(browser, upload(browser, content))

    def test_an_empty_form_is_asked_for_its_file(self, browser: Browser) -> None:
        assert "file" in browser.post(PAGE, {}).context["form"].errors


class TestConfirm:
    def test_imports_once_and_forgets_the_file(self, browser: Browser, folder: Path) -> None:
        token = upload(browser, "id,address\na,Here\nb,There\n").context["preview"].token
        first = browser.post(PAGE, {"token": token})
        assert told(browser, first) == "Imported: 2 registered, 0 changed, 0 unchanged."
        assert set(ChangeRecord.objects.values_list("actor", flat=True)) == {"staff:olga"}
        assert list(folder.iterdir()) == []
        assert "Upload it again" in told(browser, browser.post(PAGE, {"token": token}))
        assert ChangeRecord.objects.count() == 2

    def test_is_for_the_person_who_uploaded_it(self, browser: Browser) -> None:
        token = upload(browser, "id,address\na,Here\n").context["preview"].token
        other = signed_in("registrar", "rita")
        assert "Upload it again" in told(other, other.post(PAGE, {"token": token}))
        assert not Sensor.objects.exists()

    def test_of_bad_lines_imports_nothing(self, browser: Browser) -> None:
        token = upload(browser, "id,address\na,Here\nb,\n").context["preview"].token
        assert "nothing has been imported" in told(browser, browser.post(PAGE, {"token": token}))
        assert not Sensor.objects.exists()


class TestGoodLines:
    def test_are_imported_and_the_refused_ones_shown_and_downloaded(self, browser: Browser) -> None:
        token = upload(browser, "id,address\na,Here\nb-c,There\nd,\n").context["preview"].token
        answer = browser.post(PAGE, {"token": token, "good": "1"})
        assert [sensor.pk for sensor in Sensor.objects.all()] == ["a"]
        assert (answer.context["report"].created, answer.context["preview"].bad) == (1, 2)
        assert buttons(answer) == {"Download the lines with errors", "Another file", "To the sensors"}
        refused = browser.post(PAGE, {"token": token, "download": "bad"}).content.decode().splitlines()
        assert [line.split(",")[0] for line in refused] == ["line", "3", "4"]

    def test_of_somebody_else_are_not_imported(self, browser: Browser) -> None:
        token = upload(browser, "id,address\na,Here\nb,\n").context["preview"].token
        other = signed_in("registrar", "rita")
        assert "Upload it again" in told(other, other.post(PAGE, {"token": token, "good": "1"}))
        assert not Sensor.objects.exists()


class TestDownload:
    def test_holds_every_bad_line(self, browser: Browser) -> None:
        token = upload(browser, "id,address\n" + "a-b,\n" * 600).context["preview"].token
        answer = browser.post(PAGE, {"token": token, "download": "bad"})
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        lines = {row.split(",")[0] for row in answer.content.decode().splitlines()[1:]}
        assert lines == {str(number) for number in range(2, 602)}
