from pathlib import Path

import polib
import pytest

from tests import translations
from tests.translations import find_bad_entries, find_gaps, find_stale_binary, update


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty catalog in place of the product's."""
    file = tmp_path / "django.po"
    polib.POFile().save(str(file))
    monkeypatch.setattr(translations, "CATALOG", file)
    monkeypatch.setattr(translations, "COMPILED", file.with_suffix(".mo"))
    return file


def write(file: Path, *entries: polib.POEntry) -> None:
    catalog = polib.POFile()
    catalog.extend(entries)
    catalog.save(str(file))


class TestProductTexts:
    @pytest.mark.slow
    def test_finds_code_templates_errors_schedule_and_theme(self) -> None:
        texts = {text for _, text, _ in translations.product_texts()}
        assert {
            "Revoke this key?",
            "First steps",
            "Change not found.",
            "Create the daily partitions for the coming days and drop those that are too old.",
            "Apply Filters",
        } <= texts


class TestFindGaps:
    def test_names_what_is_missing_and_what_is_no_longer_used(self, catalog: Path) -> None:
        write(catalog, polib.POEntry(msgid="Old", msgstr="Старое"))
        assert find_gaps({(None, "New", "")}) == ["missing: 'New'", "no longer used: 'Old'"]


class TestFindBadEntries:
    @pytest.mark.parametrize(
        ("entry", "problem"),
        [
            (polib.POEntry(msgid="Door", msgstr="Дверь", flags=["fuzzy"]), "fuzzy: 'Door'"),
            (polib.POEntry(msgid="Door"), "untranslated: 'Door'"),
            (
                polib.POEntry(msgid="a", msgid_plural="b", msgstr_plural={0: "в", 1: ""}),
                "untranslated: 'a'",
            ),
            (polib.POEntry(msgid="%(a)s", msgstr="а"), "lost placeholder: '%(a)s'"),
            (polib.POEntry(msgid="%(a)s", msgstr="%(b)s"), "unknown placeholder: '%(a)s'"),
        ],
    )
    def test_names_the_fault(self, catalog: Path, entry: polib.POEntry, problem: str) -> None:
        write(catalog, entry)
        assert find_bad_entries() == [problem]


class TestFindStaleBinary:
    def test_a_changed_catalog_must_be_compiled_again(self, catalog: Path) -> None:
        update({(None, "Door", "")})
        assert find_stale_binary() == []
        write(catalog, polib.POEntry(msgid="Door", msgstr="Дверь"))
        assert len(find_stale_binary()) == 1


class TestUpdate:
    def test_adds_drops_and_keeps(self, catalog: Path) -> None:
        write(catalog, polib.POEntry(msgid="Old", msgstr="Старое"), polib.POEntry(msgid="Door", msgstr="Дверь"))
        update({(None, "Door", ""), (None, "New", "")})
        assert [(entry.msgid, entry.msgstr) for entry in polib.pofile(str(catalog))] == [("Door", "Дверь"), ("New", "")]
