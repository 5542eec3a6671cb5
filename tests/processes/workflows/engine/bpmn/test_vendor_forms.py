import json
from typing import Any

import pytest

from processes.workflows.engine.bpmn import json_forms
from processes.workflows.engine.bpmn.assignments import MAX_VARIABLE
from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.bpmn.vendor_forms import MAX_NOTE
from processes.workflows.engine.definition import FormField, TextValue
from processes.workflows.engine.dmn.inputs import list_read_names

_SPACES = (
    'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"'
    ' xmlns:operaton="http://operaton.org/schema/1.0/bpmn" xmlns:flowable="http://flowable.org/bpmn"'
    ' xmlns:activiti="http://activiti.org/bpmn" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'
    ' xmlns:postern="https://postern.dev/bpmn/1.0"'
)


def fields_of(extensions: str, *, process: str = "", attributes: str = "") -> list[FormField]:
    source = (
        f'<definitions {_SPACES}><process id="p" isExecutable="true">'
        f"<extensionElements>{process}</extensionElements>"
        f'<startEvent id="s"/><userTask id="t" {attributes}><extensionElements>{extensions}</extensionElements>'
        '</userTask><sequenceFlow id="f" sourceRef="s" targetRef="t"/></process></definitions>'
    )
    return list(parse_bpmn(source.encode()).nodes["t"].form)


def text(value: str) -> TextValue:
    return TextValue((value,))


class TestFormData:
    @pytest.mark.parametrize("prefix", ["camunda", "operaton"])
    def test_kinds_constraints_and_choices(self, prefix: str) -> None:
        form = """
            <x:formData>
              <x:formField id="customer" label="Customer" type="string" defaultValue="ACME"><x:validation>
                <x:constraint name="required"/><x:constraint name="minlength" config="2"/>
                <x:constraint name="maxlength" config="20"/></x:validation></x:formField>
              <x:formField id="amount" type="long"><x:validation><x:constraint name="min" config="1"/>
                <x:constraint name="max" config="99"/></x:validation></x:formField>
              <x:formField id="approved" label="Approved?" type="boolean"/>
              <x:formField id="until" label="Until" type="date"/>
              <x:formField id="size" label="Size" type="enum"><x:value id="s" name="Small"/><x:value id="l"/>
                </x:formField>
              <x:formField id="seen" label="Seen" type="string"><x:validation><x:constraint name="readonly"/>
                </x:validation></x:formField>
            </x:formData>"""
        assert fields_of(form.replace("x:", f"{prefix}:")) == [
            FormField("customer", "Customer", is_required=True, min_length=2, max_length=20, default=text("ACME")),
            FormField("amount", "amount", "number", minimum=1, maximum=99, is_whole=True),
            FormField("approved", "Approved?", "boolean"),
            FormField("until", "Until", "date"),
            FormField("size", "Size", "choice", choices=("s", "l"), choice_labels=("Small", "l")),
            FormField("seen", "Seen", is_read_only=True),
        ]

    def test_a_day_and_a_pattern(self) -> None:
        form = (
            '<camunda:formData><camunda:formField id="day" type="date" defaultValue="31/12/2030"/><camunda:formField'
            ' id="code" type="string"><camunda:validation><camunda:constraint name="pattern" config="[A-Z]+"/>'
            "</camunda:validation></camunda:formField></camunda:formData>"
        )
        day, code = fields_of(form)
        assert (day.kind, day.default) == ("date", text("2030-12-31"))
        assert code.pattern is not None
        assert code.pattern.text == "[A-Z]+"

    def test_what_cannot_be_a_name_or_is_no_known_kind_is_a_text_of_a_near_name(self) -> None:
        form = (
            '<camunda:formData><camunda:formField id="order-no" type="custom"/>'
            '<camunda:formField id="1st" type="enum"/></camunda:formData>'
        )
        assert fields_of(form) == [FormField("order_no", "order-no"), FormField("_1st", "1st")]

    def test_a_form_of_ours_counts_before_it(self) -> None:
        form = '<camunda:formData><camunda:formField id="theirs" type="string"/></camunda:formData>'
        assert [field.name for field in fields_of(form, attributes='postern:form="ours"')] == ["ours"]


class TestFormProperty:
    @pytest.mark.parametrize("prefix", ["flowable", "activiti"])
    def test_kinds_and_rights(self, prefix: str) -> None:
        form = """
            <x:formProperty id="days" name="Days" type="long" required="true" default="3"/>
            <x:formProperty id="kind" name="Kind" type="enum"><x:value id="a" name="A"/></x:formProperty>
            <x:formProperty id="who" name="Who" variable="person" writable="false" expression="${initiator}"/>"""
        days, kind, who = fields_of(form.replace("x:", f"{prefix}:"))
        (hour,) = fields_of(f'<{prefix}:formProperty id="at" type="date" datePattern="dd-MM-yyyy hh:mm"/>')
        assert hour.kind == "datetime"
        assert days == FormField("days", "Days", "number", True, is_whole=True, default=text("3"))
        assert kind == FormField("kind", "Kind", "choice", choices=("a",), choice_labels=("A",))
        assert (who.name, who.is_read_only) == ("person", True)
        assert who.default is not None
        assert who.default.expression is not None


class TestZeebe:
    def read(self, components: Any) -> list[FormField]:
        form = json.dumps({"components": components}) if not isinstance(components, str) else components
        process = f'<zeebe:userTaskForm id="form_1">{form}</zeebe:userTaskForm>'
        return fields_of('<zeebe:formDefinition formKey="camunda-forms:bpmn:form_1"/>', process=process)

    def test_the_common_components(self) -> None:
        found = self.read(
            [
                {"type": "text", "text": "# Order"},
                {
                    "type": "textfield",
                    "key": "customer",
                    "label": "Customer",
                    "validate": {"required": True, "maxLength": 9},
                },
                {
                    "type": "group",
                    "components": [{"type": "number", "key": "amount", "label": "Amount", "validate": {"min": 1}}],
                },
                {"type": "textarea", "key": "why", "label": "Why"},
                {"type": "checkbox", "key": "ok", "label": "Fine", "defaultValue": True},
                {"type": "datetime", "subtype": "date", "key": "day", "dateLabel": "Day"},
                {
                    "type": "select",
                    "key": "size",
                    "label": "Size",
                    "values": [{"label": "Small", "value": "s"}],
                    "disabled": True,
                },
                {"type": "button", "label": "Send"},
            ]
        )
        assert found == [
            FormField("_note_1", "Order", "note"),
            FormField("customer", "Customer", is_required=True, max_length=9),
            FormField("amount", "Amount", "number", minimum=1),
            FormField("why", "Why", is_long=True),
            FormField("ok", "Fine", "boolean", default=text("true")),
            FormField("day", "Day", "date"),
            FormField("size", "Size", "choice", choices=("s",), choice_labels=("Small",), is_read_only=True),
        ]

    def test_so_many_groups_inside_one_another_are_read(self) -> None:
        def inside(depth: int) -> list[Any]:
            field = {"type": "textfield", "key": "x", "label": "X"}
            return [field] if depth == 0 else [{"type": "group", "components": inside(depth - 1)}]

        assert self.read(inside(json_forms.MAX_DEPTH - 1)) == [FormField("x", "X")]
        assert self.read(inside(json_forms.MAX_DEPTH)) == []

    def test_a_text_and_a_name_are_cut(self) -> None:
        parts = [{"type": "text", "text": "x" * (MAX_NOTE + 1)}, {"type": "number", "key": "k" * (MAX_VARIABLE + 1)}]
        note, number = self.read(parts)
        assert (len(note.label), len(number.name)) == (MAX_NOTE, MAX_VARIABLE)

    def test_times_lists_patterns_and_hints(self) -> None:
        values = [{"label": "Red", "value": "r"}, {"value": "g"}]
        found = self.read(
            [
                {"type": "datetime", "subtype": "datetime", "key": "at", "dateLabel": "At"},
                {"type": "datetime", "subtype": "time", "key": "hour", "timeLabel": "Hour"},
                {"type": "checklist", "key": "colours", "label": "Colours", "values": values},
                {"type": "radio", "key": "colour", "label": "Colour", "values": values},
                {"type": "number", "key": "n", "label": "N", "decimalDigits": 0, "description": "How many"},
                {"type": "textfield", "key": "mail", "label": "Mail", "validate": {"validationType": "email"}},
                {"type": "textfield", "key": "code", "label": "Code", "validate": {"pattern": "[A-Z]{2}"}},
                {"type": "textfield", "key": "odd", "label": "Odd", "validate": {"pattern": "(?=x)"}},
                {"type": "dynamiclist", "components": [{"type": "textfield", "key": "inner"}]},
            ]
        )
        assert [(each.name, each.kind) for each in found] == [
            ("at", "datetime"),
            ("hour", "time"),
            ("colours", "choices"),
            ("colour", "choice"),
            ("n", "number"),
            ("mail", "text"),
            ("code", "text"),
            ("odd", "text"),
        ]
        at, _, colours, _, number, mail, code, odd = found
        assert (at.label, colours.choice_labels, number.is_whole, number.hint) == ("At", ("Red", "g"), True, "How many")
        assert mail.pattern is not None
        assert mail.pattern.matches_whole("a@b.c")
        assert code.pattern is not None
        assert not code.pattern.matches_whole("ABC")
        assert odd.pattern is None

    def test_a_condition_hides_a_component(self) -> None:
        (field,) = self.read([{"type": "textfield", "key": "why", "conditional": {"hide": "=ok = true"}}])
        assert field.hidden_by is not None
        assert list(list_read_names(field.hidden_by)) == ["ok"]

    @pytest.mark.parametrize("condition", ["", "=a >", 5, None])
    def test_a_condition_that_cannot_be_read_hides_nothing(self, condition: Any) -> None:
        (field,) = self.read([{"type": "textfield", "key": "why", "conditional": {"hide": condition}}])
        assert field.hidden_by is None

    @pytest.mark.parametrize("broken", ["{", "[]", '{"components": 5}', '{"components": [5, {"key": 7}]}', "[" * 500])
    def test_a_broken_one_is_none(self, broken: str) -> None:
        assert self.read(broken) == []
