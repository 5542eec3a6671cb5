"""Forms that are sent with a file become a part of it."""

import json

import pytest

from processes.workflows.engine.form_files import MAX_FORMS, FormFile, embed_forms
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.engine.dialects.foreign_elements import ForeignFile, chain, extended

BY_ID = ForeignFile(
    chain('<userTask id="t">' + extended('<zeebe:formDefinition formId="order"/>') + "</userTask>"), ""
).source
BY_NAME = ForeignFile(chain('<userTask id="t" camunda:formKey="camunda-forms:deployment:order.form"/>'), "").source


def form(name: str = "order.form", key: str = "amount", **more: object) -> FormFile:
    content = {"id": "order", "components": [{"type": "number", "key": key}], **more}
    return FormFile(name, json.dumps(content).encode())


class TestEmbedForms:
    @pytest.mark.parametrize("source", [BY_ID, BY_NAME])
    def test_the_task_has_its_fields(self, source: bytes) -> None:
        whole = embed_forms(source, [form()])
        assert [field.name for field in parse_definition(whole).nodes["t"].form] == ["amount"]

    def test_one_that_is_sent_again_replaces_the_old_one(self) -> None:
        whole = embed_forms(embed_forms(BY_ID, [form()]), [form(key="total")])
        assert [field.name for field in parse_definition(whole).nodes["t"].form] == ["total"]

    def test_gives_the_same_bytes_each_time(self) -> None:
        assert embed_forms(BY_ID, [form()]) == embed_forms(BY_ID, [form()])

    def test_without_forms_the_file_stays_as_it_is(self) -> None:
        assert embed_forms(b"anything", []) == b"anything"

    @pytest.mark.parametrize(
        ("sent", "message"),
        [
            (FormFile("x.form", b"{}"), "is no form"),
            (FormFile("x.form", b"\xff"), "not written in UTF-8"),
            (FormFile("x.form", '{"components": ["\ufffe"]}'.encode()), "is no form"),
            (form("other.form", id="other"), "No task refers to the form other.form"),
        ],
    )
    def test_refuses_what_would_be_shown_nowhere(self, sent: FormFile, message: str) -> None:
        with pytest.raises(InvalidDefinition, match=message):
            embed_forms(BY_ID, [sent])


class TestLimits:
    def test_there_are_so_many_forms_and_not_one_more(self) -> None:
        assert b"amount" in embed_forms(BY_ID, [form()] * MAX_FORMS)
        with pytest.raises(InvalidDefinition, match="at most 50 forms"):
            embed_forms(BY_ID, [form()] * (MAX_FORMS + 1))
