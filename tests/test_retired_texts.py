import polib
import pytest

from tests.retired_texts import find_problems


class TestFindProblems:
    @pytest.mark.parametrize(
        ("english", "russian"),
        [
            ("There is no such sensor.", "Датчик не найден."),
            ("next rung", "следующая эскалация"),
            ("Readers", "Читатели"),
            ("Session themes", "Темы сессий"),
        ],
    )
    def test_names_a_text_of_either_language(self, english: str, russian: str) -> None:
        assert len(list(find_problems(polib.POEntry(msgid=english, msgstr=russian)))) == 1

    def test_reads_every_form_of_a_plural(self) -> None:
        forms = {0: "%(n)s повтор", 1: "%(n)s сессии", 2: "%(n)s повторов", 3: "%(n)s повтора"}
        entry = polib.POEntry(msgid="%(n)s session", msgid_plural="%(n)s sessions", msgstr_plural=forms)
        assert len(list(find_problems(entry))) == 1

    def test_a_placeholder_may_have_any_name(self) -> None:
        entry = polib.POEntry(msgid="%(follower)s is up to date", msgstr="%(follower)s: без отставания")
        assert list(find_problems(entry)) == []
