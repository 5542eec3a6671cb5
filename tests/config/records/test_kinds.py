import re
from collections.abc import Iterator

from django.conf import settings
from django.utils.translation import override

from config.audit.changes import tracked_kinds
from config.records.kinds import KINDS, kind_title
from config.records.models import ChangeRecord


class TestKindTitle:
    def test_every_kind_that_is_tracked_has_words(self) -> None:
        assert set(tracked_kinds()) <= set(KINDS)

    def test_every_kind_that_is_recorded_has_words(self) -> None:
        found = set(find_recorded_kinds())
        assert {"rung", "workflow_scenarios"} <= found
        assert found <= set(KINDS)

    def test_one_of_a_plugin_stands_for_itself(self) -> None:
        assert kind_title("gadget") == "gadget"


def test_a_change_is_named_in_the_language_of_the_reader() -> None:
    change = ChangeRecord(kind="key", object_id="7")
    assert str(change) == "access key 7"
    with override("ru"):
        assert str(change) == "ключ доступа 7"


def find_recorded_kinds() -> Iterator[str]:
    """Yield the kinds of the modules that write the change log: their `KIND`, or the word in the call."""
    for folder in ("config", "messaging", "notifications", "processes", "sensors"):
        for file in sorted((settings.BASE_DIR / folder).rglob("*.py")):
            text = file.read_text()
            if "import record_change" in text and "record_change(" in text:
                yield from re.findall(r'^KIND = "(\w+)"', text, re.MULTILINE)
                yield from re.findall(r'record_change\(\s*kind="(\w+)"', text)
