from processes.workflows.admin.values import LONGEST_EDITED, editable_text


class TestEditableText:
    def test_takes_so_much_and_not_a_character_more(self) -> None:
        weight = len('{"a":""}')
        assert editable_text({"a": "x" * (LONGEST_EDITED - weight)})
        assert editable_text({"a": "x" * (LONGEST_EDITED - weight + 1)}) == ""
